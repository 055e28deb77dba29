/** The protocols by which models are asked. */
export const modelProtocols = ['openai', 'anthropic', 'ollama'] as const;
export type ModelProtocol = (typeof modelProtocols)[number];

/** What models are asked in: runs of an agent, or analyses of the service. */
export type ModelUse = 'run' | 'analysis';
/** As the names of settings have it: `MODEL_RUN_TOKENS`. */
export const useNames = { run: 'RUN', analysis: 'ANALYSIS' } as const satisfies Record<ModelUse, string>;

/** What may be spent on a model in some time; undefined where nothing limits it. */
export interface ModelLimits {
  /** Tokens of questions and answers together. */
  readonly tokens: number;
  /** How long answers are waited for in all, in seconds. */
  readonly seconds: number;
  /** In the currency of the prices. */
  readonly cost?: number | undefined;
}

/** A model that may be asked; plain data, so that threads can be given it. */
export interface ModelAccess {
  readonly protocol: ModelProtocol;
  /** The address before the protocol's own path. */
  readonly url: string;
  readonly name: string;
  readonly apiKey?: string | undefined;
  readonly proxyUrl?: string | undefined;
  readonly use: ModelUse;
  /** Of one run, or of one analysis. */
  readonly perRun: ModelLimits;
  readonly perDay: ModelLimits;
  /** What a million tokens cost; 0 where nobody said. */
  readonly price: { readonly input: number; readonly output: number };
}

/** Why checks that need a model are not offered. */
export const modelMissing = 'no model is configured: set MODEL_URL and MODEL_NAME';

/**
 * The protocol of an address where none is named: Anthropic's by its host name, Ollama's by its port without a path, that of OpenAI
 * otherwise, which nearly every server speaks.
 */
export function protocolOf(url: URL): ModelProtocol {
  if (/(?:^|\.)anthropic\.com$/.test(url.hostname)) return 'anthropic';
  return url.port === '11434' && url.pathname === '/' ? 'ollama' : 'openai';
}
