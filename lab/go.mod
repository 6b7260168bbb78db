module github.com/oxbow-memory/oxbow/lab

go 1.26.0

require github.com/oxbow-memory/oxbow v0.0.0

replace github.com/oxbow-memory/oxbow => ../
