import { readEnvironment } from '@picket/lib/env.ts';
import { AppError } from '@picket/lib/errors.ts';
import { isProxyAddress, type ProxySettings, proxyUrlOf, withLowerCaseProxies } from '@picket/lib/proxy.ts';
import { type SettingTree, setting, shapeOf, type Values, valuesOf } from '@picket/lib/setting-tree.ts';
import { z } from 'zod';
import { type ModelAccess, type ModelUse, modelProtocols, protocolOf, useNames } from './access.ts';

const amount = (options: { readonly min: number; readonly max: number }) =>
  z
    .string()
    .regex(/^\d{1,12}(?:\.\d{1,6})?$/, `must be a number from ${options.min} to ${options.max}`)
    .transform(Number)
    .pipe(
      z
        .number()
        .min(options.min, `must be at least ${options.min}`)
        .max(options.max, `must be at most ${options.max}`),
    );
const count = { min: 1, max: 1_000_000_000 };
const money = { min: 0, max: 1_000_000 };

const modelUrl = z
  .string()
  .superRefine((value, context) => {
    const url = URL.parse(value);
    const message =
      url === null || !/^https?:$/.test(url.protocol)
        ? 'must be an http:// or https:// address'
        : url.username || url.password
          ? 'must not contain a user name or password; the key belongs in MODEL_API_KEY'
          : url.search || url.hash
            ? 'must not have a query or a fragment'
            : undefined;
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  })
  .optional();

/** Descriptions of the settings that an agent and the service share. */
interface Words {
  /** Purpose of the URL, and the features that need it. */
  readonly url: string;
  readonly one: string;
  readonly all: string;
}

function modelSettings(use: ModelUse, { url, one, all }: Words) {
  const limit = (name: string) => `MODEL_${useNames[use]}_${name}`;
  return {
    url: setting('MODEL_URL', modelUrl, url),
    name: setting('MODEL_NAME', z.string().min(1).max(200).optional(), 'Name of the model at its provider'),
    protocol: setting(
      'MODEL_PROVIDER',
      z
        .string()
        .transform((value) => value.toLowerCase())
        .pipe(z.enum(modelProtocols, `must be one of ${modelProtocols.join(', ')}`))
        .optional()
        .meta({ defaultText: 'by the address: Anthropic’s host, Ollama’s port 11434, else `openai`' }),
      `Protocol of the model: ${modelProtocols.join(', ')}; most servers support that of OpenAI`,
    ),
    apiKey: setting(
      'MODEL_API_KEY',
      z.string().max(4096).optional().meta({ secret: true }),
      'API key of the model, if it needs one',
    ),
    oneTokens: setting(
      limit('TOKENS'),
      amount(count).default(use === 'run' ? 200_000 : 20_000),
      `Maximum tokens of ${one}, requests and responses together`,
    ),
    dayTokens: setting(
      'MODEL_DAY_TOKENS',
      amount(count).default(2_000_000),
      `Maximum tokens of ${all} in one day (UTC), counted since its start`,
    ),
    oneSeconds: setting(
      limit('SECONDS'),
      amount(count).default(180),
      `Maximum total wait of ${one} for the model`,
    ),
    daySeconds: setting(
      'MODEL_DAY_SECONDS',
      amount(count).default(7200),
      `Maximum total wait of ${all} for the model in one day`,
    ),
    oneCost: setting(
      limit('COST'),
      amount(money).optional(),
      `Maximum cost of ${one}, by the two prices below`,
    ),
    dayCost: setting('MODEL_DAY_COST', amount(money).optional(), `Maximum cost of ${all} in one day`),
    inputPrice: setting(
      'MODEL_INPUT_PRICE',
      amount(money).default(0),
      'Price of a million input tokens, in any currency',
    ),
    outputPrice: setting('MODEL_OUTPUT_PRICE', amount(money).default(0), 'Price of a million output tokens'),
  } satisfies SettingTree;
}

const forms = '`https://api.openai.com/v1`, `https://api.anthropic.com`, `http://ollama.lan:11434`';

/** Settings of the model that AGENTIC checks use. A function, because a process needs these or the next. */
export const agentModelSettings = () =>
  modelSettings('run', {
    url: `Address of a model for agentic checks, before the path of its protocol: ${forms}. Without it agentic checks are not offered`,
    one: 'one run',
    all: 'all runs of this agent',
  });

/** Settings of the model that the service uses to analyze causes of errors. */
export const serviceModelSettings = () =>
  modelSettings('analysis', {
    url: `Address of a model that ranks causes which the rules of root cause analyses leave open, before the path of its protocol: ${forms}. Without it no model is used`,
    one: 'one analysis',
    all: 'all analyses of this process',
  });

type ModelSettings = Values<ReturnType<typeof modelSettings>>;

/**
 * Returns the configured model; undefined without one.
 *
 * @throws AppError CONFIG_INVALID for settings that contradict each other.
 */
export function modelAccess(
  settings: ModelSettings,
  proxy: ProxySettings,
  use: ModelUse = 'run',
): ModelAccess | undefined {
  const problems = mismatches(settings, proxy, use);
  if (problems.length > 0) {
    const words = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
    const lines = problems.map((problem) => `  - ${problem}`).join('\n');
    throw new AppError('CONFIG_INVALID', `${words} in the configuration:\n${lines}`, {
      attributes: { problems },
    });
  }
  const { url, name } = settings;
  if (url === undefined || name === undefined) return undefined;
  return {
    protocol: settings.protocol ?? protocolOf(new URL(url)),
    url,
    name,
    apiKey: settings.apiKey,
    proxyUrl: proxyUrlOf(url, proxy)?.href,
    use,
    perRun: { tokens: settings.oneTokens, seconds: settings.oneSeconds, cost: settings.oneCost },
    perDay: { tokens: settings.dayTokens, seconds: settings.daySeconds, cost: settings.dayCost },
    price: { input: settings.inputPrice, output: settings.outputPrice },
  };
}

/**
 * Returns the model that an environment configures, for runs without an agent.
 *
 * @throws AppError CONFIG_INVALID
 */
export function readModelAccess(
  environment: Readonly<Record<string, string | undefined>>,
): ModelAccess | undefined {
  const settings = agentModelSettings();
  const variables = readEnvironment(z.object(shapeOf(settings)), environment);
  const {
    HTTPS_PROXY: https,
    HTTP_PROXY: http,
    ALL_PROXY: all,
    NO_PROXY: except,
  } = withLowerCaseProxies(environment);
  return modelAccess(valuesOf(settings, variables), {
    https: https || undefined,
    http: http || undefined,
    all: all || undefined,
    except: except || undefined,
  });
}

function mismatches(
  { url, name, apiKey, protocol, ...rest }: ModelSettings,
  proxy: ProxySettings,
  use: ModelUse,
): string[] {
  const problems: string[] = [];
  if (url !== undefined && name === undefined)
    problems.push('MODEL_NAME: is required where MODEL_URL is set');
  if (url === undefined) {
    for (const [variable, value] of Object.entries({
      MODEL_NAME: name,
      MODEL_API_KEY: apiKey,
      MODEL_PROVIDER: protocol,
    })) {
      if (value !== undefined) problems.push(`${variable}: has no effect without MODEL_URL`);
    }
  } else {
    for (const [variable, value] of [
      ['HTTPS_PROXY', proxy.https],
      ['HTTP_PROXY', proxy.http],
      ['ALL_PROXY', proxy.all],
    ] as const) {
      if (value !== undefined && !isProxyAddress(value)) {
        problems.push(`${variable}: must be the http://, https:// or socks5:// address of a proxy`);
      }
    }
  }
  const hasPrice = rest.inputPrice > 0 || rest.outputPrice > 0;
  for (const [variable, cost] of [
    [`MODEL_${useNames[use]}_COST`, rest.oneCost],
    ['MODEL_DAY_COST', rest.dayCost],
  ] as const) {
    if (cost !== undefined && !hasPrice) {
      problems.push(`${variable}: needs MODEL_INPUT_PRICE or MODEL_OUTPUT_PRICE`);
    }
  }
  return problems;
}
