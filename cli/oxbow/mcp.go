package main

import (
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/server"
)

func mcpCommand(a *app) *cobra.Command {
	var embedding embeddingFlags
	var rerank rerankFlags
	var user string
	cmd := &cobra.Command{
		Use:   "mcp --user USER",
		Short: "Serve a user's memories to a model over MCP (stdio)",
		Long: `Serve the memories of one user over the Model Context Protocol, on standard input and output, for a program
such as Claude Desktop that starts this one. It ends when standard input does. Logs go to standard error.

"oxbow serve" offers the same over HTTP, with keys. The embedding flags must select the model of the database's
vectors.`,
		Example: `  oxbow mcp --user ada
  claude mcp add oxbow --env DATABASE_URL="$DATABASE_URL" -- oxbow mcp --user ada`,
	}
	cmd.Flags().StringVar(&user, "user", "", "the user whose memories to serve")
	env(cmd.Flags(), "user", "OXBOW_USER")
	embedding.add(cmd.Flags())
	rerank.add(cmd.Flags())
	cmd.RunE = a.needsDatabase(func(cmd *cobra.Command, _ []string) error {
		if user == "" {
			return usagef("no user: set --user or OXBOW_USER")
		}
		embedder, err := embedding.open()
		if err != nil {
			return err
		}
		reranker, err := rerank.open()
		if err != nil {
			return err
		}
		return server.RunMCP(cmd.Context(), server.Config{DatabaseURL: a.databaseURL, Connections: 4, Embedder: embedder,
			Reranker: reranker, Rerank: rerank.options, Version: version(), Logger: a.logger()}, user, a.in, a.out)
	})
	return cmd
}
