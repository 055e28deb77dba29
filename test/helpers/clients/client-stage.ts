import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runtimesDirectory } from '../scripts/script-stage.ts';
import {
  createLocation,
  type HarnessOptions,
  openHarness,
  type ServiceHarness,
  type TestLocation,
} from '../service/service.ts';
import { type CommandEnd, type CommandSettings, runCommandLine } from './command-line.ts';
import { installedClients } from './installed-clients.ts';

export interface ClientStage {
  readonly harness: ServiceHarness;
  /** URL of the service. */
  readonly url: string;
  /** The private location of the project; it has no agent. */
  readonly office: TestLocation;
  /** A copy of the project for this stage only. */
  readonly projectFolder: string;
  /** Runs a command in the project's folder with the account's key, unless the settings say otherwise. */
  run(args: readonly string[], settings?: Partial<CommandSettings>): Promise<CommandEnd>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts the service in this process and copies a project for the real command line.
 *
 * @param project the folder next to this file to copy.
 */
export async function openClientStage(
  options: HarnessOptions = {},
  project: 'sample-project' | 'every-construct' = 'sample-project',
): Promise<ClientStage> {
  const modules = await installedClients();
  const harness = await openHarness(options);
  await harness.app.listen({ port: 0, host: '127.0.0.1' });
  const url = `http://127.0.0.1:${(harness.app.server.address() as AddressInfo).port}`;
  const projectFolder = mkdtempSync(join(tmpdir(), 'picket-client-project-'));
  cpSync(join(import.meta.dirname, project), projectFolder, { recursive: true });
  if (project === 'every-construct') {
    const statusPage = 'status-page.check.ts';
    cpSync(join(import.meta.dirname, 'sample-project/src', statusPage), join(projectFolder, statusPage));
  }
  // The author's installed packages: the command line reads the configuration of suites.
  mkdirSync(join(projectFolder, 'node_modules'));
  for (const name of ['checkly', '.bin']) {
    symlinkSync(join(modules, name), join(projectFolder, 'node_modules', name));
  }
  for (const name of ['@playwright', 'playwright', 'playwright-core']) {
    const installed = join(runtimesDirectory, '2026.04/node_modules', name);
    if (existsSync(installed)) symlinkSync(installed, join(projectFolder, 'node_modules', name));
  }
  const { key, accountId: account } = harness;
  return {
    harness,
    url,
    office: await createLocation(harness, 'office'),
    projectFolder,
    run: (args, settings) =>
      runCommandLine(args, { service: url, key, account, cwd: projectFolder, ...settings }),
    async [Symbol.asyncDispose]() {
      await harness.close();
      rmSync(projectFolder, { recursive: true });
    },
  };
}
