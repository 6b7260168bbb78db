package main

func (rep report) page(string) string { return rep.text() }
