// A program for Node.js without the types of browsers, which checks the types of the package too.
import { Oxbow } from "oxbow-memory"
import { Memory } from "oxbow-memory/mem0"

export const clients = [new Oxbow({ user: "ada" }), new Memory()]
