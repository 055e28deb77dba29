import type { Command } from 'commander';

type Environment = Readonly<Record<string, string | undefined>>;

/** Adds `mcp`. */
export function addMcpCommand(program: Command, environment: Environment, help: () => string): void {
  program
    .command('mcp')
    .description('give a language model the tools of the service: an MCP server on standard input and output')
    .option('--write', 'also offer tools that write or run checks')
    .addHelpText('after', help)
    .action(async (options: { readonly write?: boolean }) =>
      (await import('./mcp-command.ts')).mcpCommand(environment, options),
    );
}
