package embedding

import "strings"

// conceptLines holds one concept a line: words of everyday life that mean nearly the same, or belong to one matter, in
// English and in Chinese (words of two characters). A word stands in one line only. It lets a text about a doctor find
// one about a hospital, and a question in one language an answer in the other, without a model.
const conceptLines = `
mother mom mum mommy mama 妈妈 母亲 老妈
father dad daddy papa 爸爸 父亲 老爸
parent 父母 爸妈 家长
child children kid toddler baby infant 孩子 小孩 儿童 宝宝 娃娃
son boy 儿子 男孩
daughter girl 女儿 女孩 闺女
husband wife spouse 丈夫 老公 妻子 老婆 爱人 配偶 太太
boyfriend girlfriend dating romance romantic breakup 男友 女友 恋爱 约会 恋人
marry marriage wedding bride groom fiance honeymoon divorce 结婚 婚礼 婚姻 订婚 离婚 蜜月
brother sister sibling cousin nephew niece 哥哥 弟弟 姐姐 妹妹 兄弟 姐妹 表哥 表姐 侄子
grandmother grandma granny grandfather grandpa grandparent 奶奶 爷爷 外婆 外公 姥姥 姥爷
family relative household 家人 家庭 亲戚 亲人 全家
friend buddy pal mate friendship 朋友 好友 伙伴 哥们 闺蜜 友谊
neighbor neighbour neighborhood community 邻居 小区 社区 街道
colleague coworker teammate team 同事 队友 团队 班组
boss manager supervisor 老板 上司 领导 经理 主管
client customer 客户 顾客
dog puppy pup 小狗 狗狗 遛狗
cat kitten kitty 小猫 猫咪
pet animal wildlife 宠物 动物
turtle tortoise reptile snake lizard 乌龟 蜥蜴
bird parrot 小鸟 鹦鹉
horse pony 骑马 马匹
adopt adoption foster 收养 领养
doctor physician nurse clinic hospital checkup surgery 医生 大夫 护士 医院 门诊 就诊 看病 体检 复查 挂号 手术
sick illness disease flu fever cough 生病 感冒 发烧 咳嗽 疾病
pain ache hurt injury injured sprain wound 疼痛 受伤 扭伤 酸痛 伤口
medicine medication pill prescription 药品 吃药 服药 药物 处方
therapy therapist counselor counseling psychologist 心理 咨询 疏导
health healthy wellness 健康 养生 身体
stress anxiety anxious worry worried nervous overwhelmed 压力 焦虑 担心 紧张 忧虑 烦恼
sad upset depressed grief lonely disappointed 难过 伤心 悲伤 失落 孤独 失望 沮丧
happy glad joy delighted cheerful thrilled excited 开心 高兴 快乐 愉快 兴奋 激动
angry furious annoyed frustrated 生气 愤怒 恼火
scared afraid fear terrified 害怕 恐惧
proud pride accomplishment achievement 自豪 骄傲 成就
favorite favourite prefer preference 最爱 偏好 偏爱 喜好
love adore like enjoy fond 喜欢 喜爱 热爱
hate dislike 讨厌 厌恶 反感
tired exhausted fatigue 疲惫 疲劳 劳累
sleep nap insomnia bedtime 睡觉 睡眠 失眠 午睡 入睡
relax unwind calm peaceful 放松 休息 休闲 平静
exercise workout gym fitness training trainer 锻炼 健身 训练 教练
sport athlete athletic 运动 体育
run jog marathon 跑步 晨跑 慢跑 夜跑 长跑
walk stroll hike trail 散步 步行 健走 快走 徒步 爬山 登山
yoga meditation meditate pilates mindfulness 瑜伽 冥想
swim pool 游泳 泳池
bike bicycle cycling 骑行 单车 骑车
basketball 篮球
football soccer 足球
tennis badminton 网球 羽毛 乒乓
game gaming gamer videogame console 游戏 电竞
tournament competition contest championship match 比赛 竞赛 赛事
win won victory champion prize award trophy medal 获胜 赢得 冠军 获奖 奖品 奖杯
diet calorie weight slim 体重 减肥 减脂 饮食 热量
food meal eat ate cuisine 食物 美食 吃饭 用餐
breakfast 早餐 早饭
lunch 午餐 午饭
dinner supper 晚餐 晚饭
restaurant bistro 餐厅 饭店 餐馆 饭馆
cook recipe kitchen chef 做饭 烹饪 下厨 厨房 食谱 菜谱
bake cake bread pastry cookie dessert pie 烘焙 蛋糕 面包 甜点 甜品 饼干
vegetable salad vegan vegetarian 蔬菜 青菜 素食
fruit apple banana berry 水果 苹果 香蕉
meat beef pork chicken steak 牛肉 猪肉 鸡肉 肉类
noodle pasta soup rice 面条 米饭 煲汤
coffee espresso latte cafe 咖啡
tea 茶叶 喝茶 泡茶
beer wine alcohol cocktail 喝酒 白酒 啤酒 红酒 饮酒
candy sweet chocolate sugar 糖果 甜食
smoke cigarette 抽烟 吸烟 戒烟
work job career employment profession occupation 工作 职业 上班 岗位 事业
interview resume hire recruit 面试 简历 招聘 入职 应聘
promotion salary wage bonus 升职 加薪 工资 薪水 奖金
quit resign layoff unemployed 辞职 离职 裁员 失业
business startup company entrepreneur store shop 创业 公司 生意 店铺 门店 企业
marketing advertise advertising brand 营销 推广 广告 宣传 品牌
meeting conference seminar workshop 会议 开会 研讨 讲座
plan goal objective project 计划 目标 规划 项目
schedule calendar appointment deadline 日程 预约 截止
money cash budget finance financial 资金 预算 理财 财务
bank loan mortgage debt 银行 贷款 房贷 欠款
pay payment paid bill invoice 支付 付款 账单 缴费 转账
saving savings 储蓄 存钱 储备 积蓄
invest investment stock fund portfolio 投资 股票 基金 资产
buy bought purchase 购买 买了 下单
sell sold sale 出售 卖掉 销售
gift present surprise 礼物 礼品 送给 惊喜
price cost expensive cheap discount coupon 价格 费用 花费 优惠 折扣
parcel package delivery shipping courier 快递 包裹 配送 物流
school classroom 学校 上学 班级 课堂
teacher professor mentor tutor 老师 教师 导师 教授
student pupil classmate 学生 同学
college university degree graduate graduation 大学 毕业 学位 学历
exam test quiz certificate certification license 考试 考核 证书 考证 测验
study learn lesson course education 学习 课程 上课 教育 复习
homework assignment 作业 功课
book novel read author literature library 书籍 小说 阅读 读书 看书 作者 图书
write writer wrote poem poetry diary script screenplay 写作 文章 诗歌 日记 剧本
movie film cinema theater 电影 影片 影院 观影
series episode television 电视 剧集 追剧
music song sing concert band melody 音乐 歌曲 唱歌 演唱 乐队
instrument piano guitar violin drum 乐器 钢琴 吉他 提琴
dance dancer ballet 舞蹈 跳舞
paint painter canvas watercolor draw drawing sketch 绘画 画画 油画 水彩 素描
art artist artwork gallery museum exhibition exhibit 艺术 展览 画展 博物 美术
craft pottery clay knit sew embroidery handmade 手工 陶艺 编织 刺绣 缝纫
photo picture photograph camera 照片 拍照 摄影 相机 拍摄 合影
collect collection collector 收藏 藏品
hobby pastime interest 爱好 兴趣
garden plant flower tree 花园 园艺 植物 种植 养花
nature outdoor forest mountain 自然 户外 森林 山林
camp tent campfire 露营 帐篷 篝火
beach sea ocean coast 海边 沙滩 大海 海滩
lake river waterfall 湖边 河边 瀑布
travel trip journey vacation holiday tour tourist 旅行 旅游 出游 度假 行程 游玩
flight plane airport airline 航班 飞机 机场 机票
train railway subway metro station 火车 高铁 地铁 车站
car drive drove vehicle truck 汽车 开车 驾驶 车辆 自驾 轿车
hotel hostel inn 酒店 宾馆 民宿 住宿
country abroad overseas foreign 国家 国外 出国 海外
city town village hometown 城市 城镇 老家 家乡
home house apartment flat residence 房子 公寓 住房 住宅
move relocate relocation 搬家 搬到 搬迁
rent landlord lease tenant 房租 租房 房东
furniture sofa couch 家具 沙发
decorate decoration decor renovation renovate 装修 装饰 布置 翻新
clean tidy laundry chore housework 打扫 清洁 家务 洗衣 收拾
repair fix maintenance broken broke 维修 修理 坏了 故障 检修
phone mobile 电话 手机 通话 来电
computer laptop software program coding 电脑 软件 程序 编程
internet online website 网络 网上 网站
instagram facebook youtube tiktok video vlog channel 视频 抖音 直播 博主
news newspaper article magazine 新闻 报纸 报道 杂志
email mail letter message 邮件 信件 短信 消息
clothes clothing dress shirt jacket outfit fashion 衣服 服装 穿搭 裙子 外套
shoe sneaker boot 鞋子 跑鞋
jewelry necklace ring bracelet 首饰 项链 戒指 手链
hair haircut makeup beauty skincare 头发 理发 化妆 美容 护肤
party celebrate celebration gathering reunion birthday 聚会 庆祝 派对 聚餐 团聚 生日
christmas thanksgiving halloween easter festival 春节 过年 中秋 国庆 圣诞 节日
church faith religion religious pray 教堂 信仰 宗教 祈祷
volunteer charity donate donation fundraiser nonprofit 志愿 公益 捐款 慈善 捐赠 义工
politics election government mayor policy 政治 选举 政府 政策
military army veteran soldier 军队 退伍 军人
police law lawyer legal court crime 警察 法律 律师 法院
culture tradition heritage 文化 传统 风俗
accident crash emergency disaster 事故 意外 紧急 灾害 车祸
weather rain sunny snow temperature forecast 天气 下雨 气温 降温 下雪 晴天
environment climate recycle pollution 环境 环保 污染
death die died dead funeral 去世 逝世 葬礼 离世
born birth pregnant pregnancy 出生 怀孕 孕期
help assist assistance support supportive 帮助 帮忙 支持 协助
advice advise suggest suggestion recommend recommendation 建议 推荐 提议 指导
problem issue trouble difficulty challenge obstacle 问题 困难 麻烦 挑战 难题
decide decision choose choice chose 决定 选择 决策
change transition transform transformation adjust 变化 改变 调整 转变
start begin began launch 开始 启动 开业
finish complete completed 完成 结束 完工
success successful succeed 成功 顺利
inspire inspiration motivate motivation encourage 启发 激励 灵感 鼓励
dream wish hope aspiration 梦想 愿望 希望 憧憬
remember recall nostalgic memory 回忆 记得 怀念
reason cause because 原因 因为 理由
meet met encounter 见面 认识 遇到 碰面
talk chat discuss discussion conversation 聊天 讨论 交谈 谈话 谈论 沟通
invite invitation 邀请 受邀
safe safety secure security 安全 保障
`

// concepts maps the hash of a word, and of its stem where that is no word of another line, to its concept's hash.
var concepts = readConcepts()

func readConcepts() map[uint64]uint64 {
	lines := strings.Split(strings.TrimSpace(conceptLines), "\n")
	of := map[uint64]uint64{}
	eachWord := func(do func(word []rune, concept uint64)) {
		for _, line := range lines {
			words := strings.Fields(line)
			concept := hash(kindConcept, []rune(words[0]))
			for _, w := range words {
				do([]rune(w), concept)
			}
		}
	}
	eachWord(func(word []rune, concept uint64) { of[hash(kindWord, word)] = concept })
	eachWord(func(word []rune, concept uint64) {
		if stem := hash(kindWord, word[:stemLen(word)]); of[stem] == 0 {
			of[stem] = concept
		}
	})
	return of
}
