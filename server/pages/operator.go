package pages

import "github.com/oxbow-memory/oxbow/store"

var operatorRoutes = []route{
	{pattern: "GET /operator", role: store.RoleOperator, section: "operator", serve: nothing("operator")},
}

var operatorSections = []section{{"operator", "/operator"}}
