package pdf

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/document"
)

// pdfPage is a page of a test's PDF.
type pdfPage struct {
	text      string // its operators
	resources string // "" for a page with one font, F1
	objects   []string
}

// The objects of page n are numbered from 10·n.
const plainFont = `<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding ` +
	`>> >> >>`

// pdfOf writes a PDF with the pages.
func pdfOf(pages ...pdfPage) []byte { return pdfWith("", pages...) }

func pdfWith(trailer string, pages ...pdfPage) []byte {
	var out bytes.Buffer
	offsets := map[int]int{}
	object := func(n int, text string) {
		offsets[n] = out.Len()
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", n, text)
	}
	out.WriteString("%PDF-2.0\n")
	object(1, "<< /Type /Catalog /Pages 2 0 R >>")
	var kids strings.Builder
	most := 2
	for i, p := range pages {
		n := 10 * (i + 1)
		fmt.Fprintf(&kids, "%d 0 R ", n)
		if p.resources == "" {
			p.resources = plainFont
		}
		object(n, fmt.Sprintf("<< /Type /Page /Parent 2 0 R /Resources %s /Contents %d 0 R >>", p.resources, n+1))
		object(n+1, stream(p.text, ""))
		for j, text := range p.objects {
			object(n+2+j, text)
		}
		most = n + 1 + len(p.objects)
	}
	object(2, fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), len(pages)))
	start := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", most+1)
	for n := 1; n <= most; n++ {
		if at, ok := offsets[n]; ok {
			fmt.Fprintf(&out, "%010d 00000 n \n", at)
		} else {
			out.WriteString("0000000000 00000 f \n")
		}
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", most+1, trailer, start)
	return out.Bytes()
}

func stream(data, more string) string {
	return fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(data), more, data)
}

// readChunks reads a file as documents.Ingest does.
func readChunks(ctx context.Context, content []byte) ([]document.Chunk, error) {
	return document.Read(ctx, document.PDF, content, document.Splitting{Size: document.DefaultSize, Overlap: 100})
}

func mustRead(t *testing.T, content []byte) []document.Chunk {
	t.Helper()
	chunks, err := readChunks(t.Context(), content)
	require.NoError(t, err)
	return chunks
}

// The files were made by LibreOffice 7.4, and by ReportLab 3.6 with a font that is not embedded (STSong-Light).
func TestPDFsOfOtherPrograms(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"libreoffice.pdf": {"The boat is called Heron. She was built in Norway, and the office is efficient",
			"“你喜欢吗？”她问。我说：“当然喜欢，因为湖面上有很多白鹭，而且风不大。”\n\n", "• Second item: check the ropes\n\n名称 Name 长度 Length"},
		"reportlab.pdf": {"那条船叫白鹭，是在挪威建造的。今天天气很好，我们一起去公园散步，“你喜欢吗？”她问。\n\nThe boat is"},
	} {
		content, err := os.ReadFile("testdata/" + name)
		require.NoError(t, err)
		for _, text := range want {
			require.Contains(t, mustRead(t, content)[0].Text, text, name)
		}
	}
}

func TestPDFHasPages(t *testing.T) {
	t.Parallel()
	chunks := mustRead(t, pdfOf(
		pdfPage{text: "BT /F1 12 Tf 72 700 Td (The first page.) Tj ET"},
		pdfPage{text: ""},
		pdfPage{text: "BT /F1 12 Tf 72 700 Td (The third page.) Tj ET"}))
	require.Equal(t, []document.Chunk{{Text: "The first page.", Page: 1}, {Text: "The third page.", Page: 3}}, chunks)
}

// A PDF only positions letters; it does not mark words or lines.
func TestPDFSpacesAreDistances(t *testing.T) {
	t.Parallel()
	for operators, want := range map[string]string{
		"BT /F1 10 Tf [(an) -333 (exam) 20 (ple)] TJ ET":                                      "an example",
		"BT /F1 10 Tf 100 700 Td (first line) Tj 0 -12 Td (second) Tj ET":                     "first line\nsecond",
		"BT /F1 10 Tf 100 700 Td (hyphen-) Tj 0 -12 Td (ated) Tj ET":                          "hyphenated",
		"BT /F1 10 Tf 12 TL 100 700 Td (a) Tj T* (b) Tj (c) ' ET":                             "a\nb\nc",
		"BT /F1 10 Tf 100 700 Td (a paragraph) Tj 0 -30 Td (another) Tj ET":                   "a paragraph\n\nanother",
		"BT /F1 10 Tf 100 700 Td (left) Tj 200 0 Td (right) Tj ET":                            "left right",
		"BT /F1 1 Tf 10 0 0 10 100 700 Tm (scaled) Tj 10 0 0 10 100 688 Tm (line) Tj ET":      "scaled\nline",
		"q 1 0 0 1 0 500 cm BT /F1 10 Tf (up) Tj ET Q q BT /F1 10 Tf (down) Tj ET Q":          "up\n\ndown",
		"BT /F1 10 Tf 0 10 -10 0 50 100 Tm (turned) Tj 0 10 -10 0 62 100 Tm (text) Tj ET":     "turned\ntext",
		"BT Tj /F1 Tf Td (lost) TJ /F1 10 Tf (operands are missing before) Tj ET":             "operands are missing before",
		"Q Q BT /F1 10 Tf (restored too often) Tj ET /None Do BT /None 10 Tf (no font) Tj ET": "restored too often\nno font",
	} {
		chunks := mustRead(t, pdfOf(pdfPage{text: operators}))
		require.Equal(t, want, chunks[0].Text, operators)
	}
}

// A font defines what its codes mean. Each page has its own fonts, even if names repeat.
func TestPDFFonts(t *testing.T) {
	t.Parallel()
	composite := func(first int) string {
		return fmt.Sprintf(
			"<< /Font << /F1 << /Type /Font /Subtype /Type0 /Encoding /Identity-H /ToUnicode %d 0 R >> >> >>",
			first+2)
	}
	table := func(body string) string {
		return stream(
			"/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n1 begincodespacerange <0000> <FFFF> "+
				"endcodespacerange\n"+
				body+"\nendcmap end end", "")
	}
	chunks := mustRead(t, pdfOf(
		pdfPage{text: "BT /F1 10 Tf 100 700 Td <00010002> Tj 0 -12 Td <0003> Tj ET", resources: composite(10),
			objects: []string{table(
				"2 beginbfchar <0001> <4F60> <0002> <597D> endbfchar 1 beginbfrange <0003> <0004> <3002> " +
					"endbfrange")}},
		pdfPage{text: "BT /F1 10 Tf <00010002> Tj ET", resources: composite(20),
			objects: []string{table("1 beginbfrange <0001> <0002> [<5317> <4EAC>] endbfrange")}}))
	require.Equal(t, []document.Chunk{{Text: "你好。", Page: 1}, {Text: "北京", Page: 2}}, chunks)

	// Predefined mappings have no table. Those to UTF-16 state the characters.
	chunks = mustRead(t, pdfOf(pdfPage{text: "BT /F1 10 Tf <67714EAC> Tj ET",
		resources: "<< /Font << /F1 << /Type /Font /Subtype /Type0 /Encoding /UniJIS-UCS2-H >> >> >>"}))
	require.Equal(t, "東京", chunks[0].Text)

	// Chromium writes radicals (U+2F63) for the characters they look like.
	chunks = mustRead(t, pdfOf(pdfPage{text: "BT /F1 10 Tf <00010002> Tj ET", resources: composite(10),
		objects: []string{table("1 beginbfrange <0001> <0002> [<2F63> <FB01>] endbfrange")}}))
	require.Equal(t, "生fi", chunks[0].Text)
}

func TestPDFForms(t *testing.T) {
	t.Parallel()
	page := pdfPage{text: "/Fm Do", resources: "<< /XObject << /Fm 12 0 R >> >>",
		objects: []string{stream("BT /F1 10 Tf (in a form) Tj ET /Fm Do",
			"/Type /XObject /Subtype /Form /Resources << /XObject << /Fm 12 0 R >> "+
				strings.TrimPrefix(plainFont, "<<"))}}
	chunks := mustRead(t, pdfOf(page))
	require.Contains(t, chunks[0].Text, "in a form", "one that draws itself ends too")
}

func TestUnreadablePDFs(t *testing.T) {
	t.Parallel()
	whole := pdfOf(pdfPage{text: "BT /F1 10 Tf (some text) Tj ET"})
	// Written by ReportLab 3.6 with an empty password.
	encrypted, err := os.ReadFile("testdata/encrypted.pdf")
	require.NoError(t, err)
	for says, content := range map[string][]byte{
		"is a broken PDF":   whole[:len(whole)/2],
		"is a broken PDF: ": bytes.Replace(whole, []byte("startxref\n"), []byte("startxref\n9"), 1),
		"is an encrypted PDF": pdfWith("/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -1 "+
			"/O ("+strings.Repeat("o", 32)+") /U ("+strings.Repeat("u", 32)+") >> /ID [(i) (i)]", pdfPage{}),
		"is an encrypted PDF: decrypt": encrypted,
		"is a PDF without text":        pdfOf(pdfPage{text: "0 0 100 100 re f"}, pdfPage{}),
		"is a PDF without pages":       pdfOf(),
		"is a PDF whose fonts": pdfOf(pdfPage{text: "BT /F1 10 Tf <0102030405> Tj ET",
			resources: "<< /Font << /F1 << /Type /Font /Encoding /Unheard-H >> >> >>"}),
		"is a PDF whose fonts do not": pdfOf(pdfPage{text: "BT /F1 10 Tf (garbage) Tj ET",
			resources: "<< /Font << /F1 << /Type /Font /Subtype /Type0 /Encoding /90ms-RKSJ-H >> >> >>"}),
		"page 1 cannot be read": bytes.Replace(pdfOf(pdfPage{text: "BT ET"}), []byte("/Length 5 "),
			[]byte("/Filter /Foo /Length 5 "), 1),
		"its pages are nested": bytes.Replace(whole, []byte("/Type /Page /Parent 2 0 R"),
			[]byte("/Type /Pages /Kids [2 0 R]"), 1),
		"is not a PDF: it does not begin": []byte("junk"),
		"is a broken PDF: not a PDF fi":   []byte("%PDF-1.4\n"),
	} {
		if says == "page 1 cannot be read" || says == "its pages are nested" {
			content = moved(content)
		}
		_, err := readChunks(t.Context(), content)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "runtime error", says)
	}
}

// flate returns a stream that is packed.
func flate(t *testing.T, data string) string {
	t.Helper()
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, err := io.WriteString(w, data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return stream(packed.String(), "/Filter /FlateDecode")
}

// A small file cannot need much memory.
func TestPDFsThatGrow(t *testing.T) {
	for name, c := range map[string]struct {
		page pdfPage
		says string
	}{
		"operators": {pdfPage{text: "/Fm Do", resources: "<< /XObject << /Fm 12 0 R >> >>", objects: []string{strings.Replace(
			flate(t, "["+strings.Repeat("1 ", maxStream/2)+"] TJ"), "<<", "<< /Type /XObject /Subtype /Form", 1)}},
			"is a PDF with a page of more than 32 MiB of operators"},
		"mapping": {pdfPage{text: "BT /F1 9 Tf (text) Tj ET",
			resources: "<< /Font << /F1 << /Type /Font /Subtype /Type1 /ToUnicode 12 0 R >> >> >>",
			objects: []string{flate(t, "1 beginbfrange <0000> <ffff> <"+strings.Repeat("0041", 1<<19)+"> endbfrange "+
				"1 beginbfchar <74> <"+strings.Repeat("0041", 1<<19)+"> endbfchar")}},
			"is a PDF whose fonts do not state their characters"},
		"states": {pdfPage{text: "/Fm Do BT /F1 9 Tf (text) Tj ET", resources: "<< /XObject << /Fm 12 0 R >> " +
			strings.TrimPrefix(plainFont, "<<"), objects: []string{strings.Replace(flate(t, strings.Repeat("q ", 1<<20)), "<<",
			"<< /Type /XObject /Subtype /Form", 1)}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			chunks, err := readChunks(t.Context(), pdfOf(c.page))
			runtime.ReadMemStats(&after)
			if c.says != "" {
				require.ErrorContains(t, err, c.says)
			} else {
				require.NoError(t, err)
				require.Less(t, len(chunks[0].Text), 100)
			}
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20))
		})
	}
}

// ending is a context that ends after it was asked n times.
type ending struct {
	context.Context
	n int
}

func (e *ending) Err() error {
	if e.n--; e.n < 0 {
		return context.Canceled
	}
	return nil
}

// The reader stops with its context, even among forms that draw each other for ever.
func TestPDFReadingStops(t *testing.T) {
	t.Parallel()
	form := func(text string) string {
		return stream(text, "/Type /XObject /Subtype /Form /Resources << /XObject << /A 12 0 R /B 13 0 R >> >>")
	}
	content := pdfOf(pdfPage{text: "/A Do", resources: "<< /XObject << /A 12 0 R >> >>",
		objects: []string{form("/B Do /B Do"), form("/A Do /A Do")}})
	for _, n := range []int{0, 1, 10, 1000, 10_000} {
		_, err := pagesOf(&ending{t.Context(), n}, content)
		require.ErrorIs(t, err, context.Canceled)
	}
}

// moved corrects the cross-reference table of a PDF whose objects have moved.
func moved(content []byte) []byte {
	body, _, _ := bytes.Cut(content, []byte("xref\n0 "))
	var out bytes.Buffer
	out.Write(body)
	fmt.Fprintf(&out, "xref\n0 1\n0000000000 65535 f \n")
	for n := range 100 {
		if at := bytes.Index(body, fmt.Appendf(nil, "\n%d 0 obj\n", n)); at >= 0 {
			fmt.Fprintf(&out, "%d 1\n%010d 00000 n \n", n, at+1)
		}
	}
	fmt.Fprintf(&out, "trailer\n<< /Size 100 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(body))
	return out.Bytes()
}

func FuzzRead(f *testing.F) {
	f.Add(string(pdfOf(pdfPage{text: "BT /F1 9 Tf (a) Tj ET"})))
	f.Fuzz(func(t *testing.T, content string) {
		chunks, err := document.Read(t.Context(), document.PDF, []byte(content),
			document.Splitting{Size: 100, Overlap: 50})
		if err != nil {
			return
		}
		for _, c := range chunks {
			require.True(t, utf8.ValidString(c.Text))
			require.Positive(t, c.Page)
		}
	})
}
