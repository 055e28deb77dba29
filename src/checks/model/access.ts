/** Protocols of models. */
export const modelProtocols = ['openai', 'anthropic', 'ollama'] as const;
export type ModelProtocol = (typeof modelProtocols)[number];

/** Users of models: runs of an agent, or analyses of the service. */
export type ModelUse = 'run' | 'analysis';
/** As part of the names of settings: `MODEL_RUN_TOKENS`. */
export const useNames = { run: 'RUN', analysis: 'ANALYSIS' } as const satisfies Record<ModelUse, string>;

/** Limits of a model's use in some period; undefined without a limit. */
export interface ModelLimits {
  /** Input and output tokens together. */
  readonly tokens: number;
  /** Total time to wait for responses, in seconds. */
  readonly seconds: number;
  /** In the currency of the prices. */
  readonly cost?: number | undefined;
}

/** Access to a model; plain data, so that threads can receive it. */
export interface ModelAccess {
  readonly protocol: ModelProtocol;
  /** The base URL, without the protocol's own path. */
  readonly url: string;
  readonly name: string;
  readonly apiKey?: string | undefined;
  readonly proxyUrl?: string | undefined;
  readonly use: ModelUse;
  /** Limits of one run, or of one analysis. */
  readonly perRun: ModelLimits;
  readonly perDay: ModelLimits;
  /** Price of a million tokens; 0 if none is set. */
  readonly price: { readonly input: number; readonly output: number };
}

/** Why checks that need a model are not offered. */
export const modelMissing = 'no model is configured: set MODEL_URL and MODEL_NAME';

/**
 * Returns the protocol of a URL without a configured one: Anthropic's by its host name, Ollama's by its port without a
 * path, otherwise that of OpenAI, which nearly every server supports.
 */
export function protocolOf(url: URL): ModelProtocol {
  if (/(?:^|\.)anthropic\.com$/.test(url.hostname)) return 'anthropic';
  return url.port === '11434' && url.pathname === '/' ? 'ollama' : 'openai';
}
