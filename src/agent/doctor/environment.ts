import { AppError } from '@picket/lib/errors.ts';
import { nearestName } from '@picket/lib/names/nearest-name.ts';
import { AgentConfig, type AgentSettings, readAgentSettings } from '../config.ts';
import type { Examination, ExaminedAgent } from './examination.ts';
import { ok, problem, type Verdict, warning } from './examination.ts';
import { whyNoScripts } from './offered-types.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Substitutes for missing or wrong required variables, so that the rest can be examined. */
const placeholders = { API_KEY: 'pl_none', SERVICE_URL: 'http://service.invalid' } as const;

/** Reads the settings of an environment, however much of it is wrong. */
export function readExaminedSettings(
  environment: Environment,
): Pick<ExaminedAgent, 'settings' | 'configurationProblems' | 'hasService' | 'hasKey'> {
  let usable: Record<string, string | undefined> = { ...environment };
  const problems: string[] = [];
  // Several rounds: the content of a secret's file is validated only once all other variables can be read.
  for (let round = 0; round < 4; round += 1) {
    try {
      const settings = readAgentSettings(usable);
      return {
        settings,
        configurationProblems: problems,
        hasService: settings.serviceUrl !== placeholders.SERVICE_URL,
        hasKey: settings.apiKey !== placeholders.API_KEY,
      };
    } catch (thrown) {
      const found = problemsOf(thrown);
      problems.push(...found);
      usable = withoutWrong(usable, found.map(variableOf));
    }
  }
  return { settings: defaults(), configurationProblems: problems, hasService: false, hasKey: false };
}

function defaults(): AgentSettings {
  return readAgentSettings(placeholders);
}

function problemsOf(thrown: unknown): readonly string[] {
  if (!(thrown instanceof AppError) || thrown.code !== 'CONFIG_INVALID') throw thrown;
  return (thrown.attributes?.problems as readonly string[] | undefined) ?? [thrown.message];
}

function variableOf(line: string): string {
  return line.slice(0, line.indexOf(':')).replace(/_FILE$/, '');
}

function withoutWrong(
  environment: Environment,
  names: readonly string[],
): Record<string, string | undefined> {
  const wrong = new Set(names.flatMap((name) => [name, `${name}_FILE`, name.toLowerCase()]));
  const rest = Object.fromEntries(Object.entries(environment).filter(([name]) => !wrong.has(name)));
  for (const [name, value] of Object.entries(placeholders)) if (wrong.has(name)) rest[name] = value;
  return rest;
}

const fixes: Readonly<Record<string, string>> = {
  API_KEY:
    'Create a key of the private location (POST /v1/private-locations/{id}/keys), and set API_KEY or API_KEY_FILE to it.',
  SERVICE_URL: 'Set SERVICE_URL to the address of the service, such as https://picket.example.com.',
};

/** Every problem of the configuration, as `picket agent` reads it. */
export const environment: Examination = {
  name: 'environment',
  async examine({ configurationProblems, settings, environment: variables }): Promise<readonly Verdict[]> {
    const wrong = configurationProblems.map((line) => {
      const name = variableOf(line);
      const fix = fixes[name] ?? `Correct ${name}; docs/reference/config.md describes the allowed values.`;
      return problem(line.slice(line.indexOf(':') + 1).trim(), fix, line.slice(0, line.indexOf(':')));
    });
    const others = [...misspelt(variables), ...(await runtimesProblems(variables, settings))];
    const start = wrong.length === 0 ? [ok(`the agent would start, for ${settings.serviceUrl}`)] : wrong;
    return [...start, ...others];
  },
};

/** Variables of other programs whose names resemble ours. */
const ofOthers: ReadonlySet<string> = new Set(['FTP_PROXY', 'ALL_PROXY', 'RSYNC_PROXY']);
const leastLength = 6;
const mostLetters = 2;

/** Unknown variables whose names are close to that of a setting. */
function misspelt(variables: Environment): Verdict[] {
  const settings = Object.keys(AgentConfig.shape);
  const known = new Set(settings.flatMap((name) => [name, `${name}_FILE`]));
  return Object.keys(variables).flatMap((name) => {
    const isOurs = known.has(name.toUpperCase()) || /^(?:SERVICE_SECRET|SECRET_FROM)_/.test(name);
    if (isOurs || ofOthers.has(name.toUpperCase()) || name.length < leastLength) return [];
    const meant = nearestName(name, known, mostLetters);
    if (meant === undefined) return [];
    return [
      warning(
        `is not a setting and is ignored; did you mean ${meant}?`,
        `Rename it to ${meant}, or unset it.`,
        name,
      ),
    ];
  });
}

/** Setting RUNTIMES_DIR shows the intention to run scripts. */
async function runtimesProblems(variables: Environment, settings: AgentSettings): Promise<Verdict[]> {
  if (!variables.RUNTIMES_DIR) return [];
  const obstacle = await whyNoScripts(settings);
  const { runtimesDirectory } = settings.scripts;
  if (obstacle?.kind !== 'no-runtime') return [];
  const fix =
    'Set it to the folder that npm run runtimes:install filled, or unset it to use the one of this build.';
  return [
    problem(`there is no runtime in ${runtimesDirectory}: script checks cannot run`, fix, 'RUNTIMES_DIR'),
  ];
}
