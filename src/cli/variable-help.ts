import { AgentConfig } from '@picket/agent/config.ts';
import { describeEnvironment } from '@picket/lib/env.ts';
import { ServiceConfig } from '@picket/platform/config/config.ts';
import { ApiSettings } from './api/settings.ts';

const settings = { agent: AgentConfig, service: ServiceConfig, api: ApiSettings } as const;

/** Readers of environment variables: an agent, a service, and the commands that call a service. */
export type Reader = keyof typeof settings;

/**
 * Lists environment variables for `--help`, which alone loads this file: it knows the settings of agent and service,
 * and each of them starts without those of the other.
 */
export function variableHelp(reader: Reader): string {
  const variables = describeEnvironment(settings[reader]);
  const width = Math.max(...variables.map(({ name }) => name.length));
  const lines = variables.map(({ name, description, defaultText, isSecret }) => {
    const file = isSecret ? ` (or ${name}_FILE)` : '';
    return `  ${name.padEnd(width)}  ${description}${file} [${defaultText}]`;
  });
  return `\nEnvironment variables:\n${lines.join('\n')}`;
}
