package main

func evaluationSections(dir string) []section { return nil }
