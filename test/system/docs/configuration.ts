import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Trial } from './block-table.ts';
import { runInShell } from './shell.ts';
import type { DocumentStage } from './stage.ts';

/** Runs lines one by one in a folder, with the page's login. @returns the output of each. */
async function lines(
  stage: DocumentStage,
  text: string,
  cwd: string,
  codes: Readonly<Record<string, number>> = {},
): Promise<readonly string[]> {
  const printed: string[] = [];
  for (const line of stage.rewritten(text).trim().split('\n')) {
    const { code, output } = await runInShell(line, { cwd, environment: stage.environment() });
    const wanted = Object.entries(codes).find(([start]) => line.startsWith(start))?.[1] ?? 0;
    expect(code, `${line}\n${output}`).toBe(wanted);
    printed.push(output);
  }
  return printed;
}

const logsIn: Trial = async (stage, text) => {
  const cwd = stage.copyOf();
  writeFileSync(join(cwd, 'key.txt'), stage.environment()['KEY'] ?? '');
  const [output = ''] = await lines(stage, text, cwd);
  expect(output).toContain(`Logged in to ${stage.service.url}`);
};

/**
 * An exported account is deployed elsewhere: in its own account everything would exist twice, which the plan refuses.
 */
const exportsAndDeploys: Trial = async (stage, text) => {
  const cwd = stage.copyOf();
  const [exported = '', plan = ''] = text.trim().split('\n');
  await lines(stage, exported, cwd);
  expect(readFileSync(join(cwd, 'monitoring/picket.yaml'), 'utf8')).toMatch(/^project: /);
  const names = readFileSync(join(cwd, 'monitoring/.env.example'), 'utf8').match(/^\w+(?==$)/gm) ?? [];
  writeFileSync(
    join(cwd, 'monitoring/.env'),
    names.map((name) => `${name}=https://example.com/x\n`).join(''),
  );
  const [shown = ''] = await lines(stage, plan, cwd, { 'picket plan': 1 });
  expect(shown).toContain('already');
  // The account of the other pages stays unchanged: a separate folder is deployed.
  const own = stage.copyOf();
  const fields = 'checkType: URL\nname: From git\nrequest: { url: https://example.com/ }\n';
  const write = `mkdir -p monitoring/checks && echo 'project: documents' > monitoring/picket.yaml && printf '${fields.replaceAll('\n', '\\n')}' > monitoring/checks/home.yaml`;
  const [, deployed = '', again = ''] = await lines(
    stage,
    `${write}\npicket deploy monitoring\npicket plan monitoring\nrm monitoring/checks/home.yaml\npicket deploy monitoring --yes`,
    own,
  );
  expect(deployed).toContain('Deployed: ');
  expect(again).toContain('No changes');
};

const sources: Readonly<Record<string, string>> = {
  'config.yaml':
    'endpoints:\n  - { name: home, url: "https://example.com/", conditions: ["[STATUS] == 200", "[STATUS] == any(1, 2)"] }\n',
  'blackbox.yml': 'modules:\n  http_2xx: { prober: http }\n',
  'prometheus.yml':
    'scrape_configs:\n  - { job_name: web, params: { module: [http_2xx] }, static_configs: [{ targets: [example.com] }] }\n',
  // The JSON of a backup works as well as a database.
  'kuma.db': JSON.stringify({
    monitorList: [{ id: 1, name: 'a', type: 'http', url: 'https://example.com/', interval: 60 }],
  }),
};

const imports: Trial = async (stage, text) => {
  const cwd = stage.copyOf();
  for (const [name, content] of Object.entries(sources)) writeFileSync(join(cwd, name), content);
  const [gatus = '', blackbox = '', kuma = '', plan = ''] = await lines(stage, text, cwd, {
    'picket plan': 3,
  });
  expect(gatus).toContain('endpoints.0.conditions.1: [STATUS] == any(1, 2)');
  for (const output of [blackbox, kuma]) expect(output).toContain('2 files are in');
  expect(plan).toContain('2 to create');
};

/** The folder that the page about configuration in git deploys, signed. */
const signs: Trial = async (stage, text) => {
  const cwd = stage.copyOf();
  writeFileSync(join(cwd, 'key.txt'), stage.environment()['KEY'] ?? '');
  await lines(stage, 'picket login --url https://picket.example.com < key.txt', cwd);
  const fields = 'checkType: URL\\nname: Signed\\nrequest: { url: https://example.com/ }\\n';
  const write = `mkdir -p monitoring/checks && echo 'project: signed' > monitoring/picket.yaml && printf '${fields}' > monitoring/checks/home.yaml`;
  const [, key = '', deployed = '', again = ''] = await lines(
    stage,
    `${write}\n${text.trim()}\npicket plan monitoring --sign release.pem\nrm monitoring/checks/home.yaml\npicket deploy monitoring --yes`,
    cwd,
  );
  expect(key).toMatch(/^ed25519:[\w-]{43}:2027-12-31$/m);
  expect(deployed).toContain('Deployed: ');
  expect(again).toContain('No changes');
};

/** The blocks of the pages about configuration as files, in order. */
export const configurationTests: Readonly<Record<string, Trial>> = {
  'docs/how-to/configuration-in-git.md#configuration-in-git': logsIn,
  'docs/how-to/configuration-in-git.md#configuration-in-git#2': exportsAndDeploys,
  'docs/how-to/sign-checks.md#sign-a-folder': signs,
  'docs/how-to/move-to-picket.md#move-to-picket': imports,
};
