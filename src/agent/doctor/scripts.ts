import { systemClock } from '@picket/lib/clock.ts';
import { createLogger } from '@picket/lib/log.ts';
import { BrowserMissing, findBrowser } from '@picket/sandbox/browsers/find-browser.ts';
import { browsersDirectoryOf, findOtherBrowsers } from '@picket/sandbox/browsers/other-browsers.ts';
import { unpackedChromiumPath } from '@picket/sandbox/browsers/unpacked-chromium.ts';
import type { PartProblem, SandboxFacts } from '@picket/sandbox/mechanism.ts';
import { readNodes, readPackageManagers } from '@picket/sandbox/suites/package-managers.ts';
import type { Capabilities } from '../run/contracts.ts';
import { ScriptPool } from '../runners/script/script-pool.ts';
import type { Examination, ExaminedAgent } from './examination.ts';
import { ok, problem, skipped, type Verdict, warning } from './examination.ts';
import { chosenTypes, whyNoScripts } from './offered-types.ts';
import { createProofAuthority, type ProofAuthority } from './proof-authority.ts';

/** The agent's script pool with its capabilities. */
export interface OpenedScripts {
  readonly pool: ScriptPool;
  readonly capabilities: Capabilities;
}

const opened = new WeakMap<ExaminedAgent, Promise<OpenedScripts>>();
const proofs = new WeakMap<ExaminedAgent, ProofAuthority>();

/** An authority for this examination alone, loaded like those in CA_CERTS_DIR. */
export function proofAuthorityOf(patient: ExaminedAgent): ProofAuthority {
  const proof = proofs.get(patient) ?? createProofAuthority();
  proofs.set(patient, proof);
  return proof;
}

/** Additional authorities that checks trust; none without certificates in CA_CERTS_DIR. */
export function trustedByChecks(patient: ExaminedAgent): readonly string[] {
  const { caCertificates } = patient;
  return caCertificates.length === 0 ? [] : [...caCertificates, proofAuthorityOf(patient).authority];
}

/** Opens the sandboxes as an agent does; once per examination run. */
export function openedScripts(patient: ExaminedAgent): Promise<OpenedScripts> {
  const open = opened.get(patient) ?? openScripts(patient);
  opened.set(patient, open);
  return open;
}

async function openScripts(patient: ExaminedAgent): Promise<OpenedScripts> {
  const { settings, resources, signal } = patient;
  const pool = new ScriptPool({
    clock: systemClock,
    log: createLogger('picket-doctor', 'silent'),
    ownSecrets: [],
    serviceOffsetMs: () => systemClock.wallMs() - systemClock.monotonicMs(),
    egress: () => ({ ...settings.egress, ownPorts: [] }),
    checkTypes: settings.checkTypes,
    service: { serviceUrl: settings.serviceUrl, apiKey: settings.apiKey, proxy: settings.proxy },
    model: settings.model,
    isBrowserTried: true,
    scripts: () => ({
      ...settings.scripts,
      scriptCount: 1,
      privatePaths: [...settings.secretFiles],
      hasWarmProcesses: false,
      caCertificates: trustedByChecks(patient),
    }),
  });
  resources.defer(() => pool.stop());
  const onAbort = () => void pool.stop();
  signal.addEventListener('abort', onAbort, { once: true });
  const capabilities = await pool.start();
  signal.throwIfAborted();
  return { pool, capabilities };
}

/** The sandbox that contains scripts here, and the runtimes available to it. */
export const sandbox: Examination = {
  name: 'sandbox',
  needs: ['disk SCRIPTS_DIR', 'memory agent'],
  async examine(patient) {
    const obstacle = await whyNoScripts(patient.settings);
    if (obstacle) return skipped(obstacle.text);
    const { capabilities } = await openedScripts(patient);
    const facts = capabilities.sandbox;
    if (!facts) {
      const [first] = capabilities.failed;
      return problem(
        first?.reason ?? 'scripts cannot run on this host',
        'Run the agent as root in its container, or allow user namespaces; if you trust all scripts, set ALLOW_UNISOLATED_SCRIPTS=true.',
      );
    }
    const runtimes = `runtimes ${(capabilities.runtimes ?? []).join(', ')}`;
    return [ok(`${facts.description}; ${runtimes}`), ...defectsOf(facts)];
  },
};

/** Scripts run although the containment has gaps or a runtime is not compiled; without a part some of them fail. */
export function defectsOf({
  problems,
  partProblems = [],
}: Pick<SandboxFacts, 'problems' | 'partProblems'>): Verdict[] {
  return [
    ...problems.map((text) => warning(text, fixOfContainment)),
    ...partProblems.map(({ part, text }) =>
      (part === 'compiled-code' ? warning : problem)(text, fixes[part]),
    ),
  ];
}

const fixOfContainment =
  'See docs/explanation/security.md, "Containment of scripts", for the settings of the host.';
const fixes: Readonly<Record<PartProblem['part'], string>> = {
  runtime: 'Install it again: npm run runtimes:install.',
  'compiled-code': 'Compile it: npm run runtimes:install -- RUNTIME.',
  'browser-trust': 'Install the library of the browser that keeps certificates (Debian: libnss3).',
};

/** Why the browser does not start in a sandbox; undefined if it starts, or no sandbox is available. */
async function whyNotStarted(patient: ExaminedAgent): Promise<string | undefined> {
  const isContained = patient.findings.some(
    ({ examination, status }) => examination === sandbox.name && status === 'ok',
  );
  if (!isContained) return undefined;
  const { failed } = (await openedScripts(patient)).capabilities;
  return failed.find(({ isBrowserBroken }) => isBrowserBroken)?.reason;
}

/** Whether the browser of browser checks is installed and opens a page. */
export const browser: Examination = {
  name: 'browser',
  async examine(patient) {
    const { settings } = patient;
    const { chromiumPath, runtimesDirectory } = settings.scripts;
    const obstacle = await whyNoScripts(settings);
    if (obstacle) return skipped(obstacle.text);
    if (!chosenTypes(settings).some(({ needsBrowser }) => needsBrowser)) {
      return skipped('CHECK_TYPES names no checks that need one');
    }
    try {
      const unpackedPath = unpackedChromiumPath(runtimesDirectory);
      const { executablePath, source } = await findBrowser({ chromiumPath, unpackedPath });
      const broken = await whyNotStarted(patient);
      const others = await findOtherBrowsers(browsersDirectoryOf(settings.scripts));
      const more = others.map(({ name, version }) => `; ${name} ${version}`).join('');
      if (broken === undefined) return ok(`${executablePath} (${source})${more}`);
      return problem(
        broken,
        'Run it on the host with --version to see why, install the package chromium-headless-shell, or set CHROMIUM_PATH to a different one.',
      );
    } catch (thrown) {
      if (!(thrown instanceof BrowserMissing)) throw thrown;
      const fix =
        chromiumPath === undefined
          ? 'Use the image with a browser, install the package chromium-headless-shell, or run: npm run runtimes:install chromium.'
          : 'Correct CHROMIUM_PATH, or unset it so that the agent searches for a browser.';
      return problem(thrown.message, fix);
    }
  },
};

/** The versions of Node and the package managers that suites can use. */
export const suites: Examination = {
  name: 'suites',
  async examine({ settings }) {
    const obstacle = await whyNoScripts(settings);
    if (obstacle) return skipped(obstacle.text);
    if (!chosenTypes(settings).some(({ needsSuites }) => needsSuites)) {
      return skipped('CHECK_TYPES names no suites');
    }
    const { runtimesDirectory } = settings.scripts;
    const { installed } = await readPackageManagers(runtimesDirectory);
    if (!installed.some(({ manager }) => manager === 'npm')) {
      return skipped(
        `no package managers are installed in ${runtimesDirectory}: suites are not offered here`,
      );
    }
    const nodes = [
      process.versions.node,
      ...(await readNodes(runtimesDirectory)).map(({ version }) => version),
    ];
    const names = [...new Set(installed.map(({ manager }) => manager.replace(/\d$/, '')))];
    const managers = names.map((name) => {
      const own = installed.filter(({ manager }) => manager.replace(/\d$/, '') === name);
      return `${name} ${own.map(({ version }) => version).join(', ')}`;
    });
    return ok([`Node ${nodes.join(', ')}`, ...managers].join('; '));
  },
};
