/** A conversation with a model, independent of the protocol. */

/** A tool that a model may call; `input` is a JSON schema. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface ModelCall {
  readonly id: string;
  readonly name: string;
  /** Input that the model chose, unchecked; undefined if it was not JSON. */
  readonly input: unknown;
}

export interface ModelToolResult {
  readonly callId: string;
  readonly name: string;
  readonly text: string;
}

export type ModelMessage =
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly text: string; readonly calls: readonly ModelCall[] }
  | { readonly role: 'tool'; readonly results: readonly ModelToolResult[] };

export interface ModelQuestion {
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
  /** Most tokens of the response. */
  readonly maxAnswerTokens: number;
}

export interface ModelAnswer {
  readonly text: string;
  readonly calls: readonly ModelCall[];
  /** As the provider reports; 0 if it does not. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** A request as sent. */
export interface ModelRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** How a protocol encodes requests and decodes responses; both functions are pure. */
export interface ModelDialect {
  request(
    question: ModelQuestion,
    access: { readonly name: string; readonly apiKey?: string | undefined },
  ): ModelRequest;
  /** @throws Error if the body is not a valid response. */
  answer(body: unknown): ModelAnswer;
}

/** Why a model gave no usable response. */
export class ModelError extends Error {
  readonly code: 'MODEL_UNAVAILABLE' | 'MODEL_ANSWER_INVALID' | 'MODEL_LIMIT_EXCEEDED';
  /** Status of the provider's rejection, if any. */
  readonly status: number | undefined;
  /** Body of that rejection, truncated. */
  readonly refusal: string | undefined;

  constructor(
    code: ModelError['code'],
    message: string,
    { status, refusal }: { readonly status?: number | undefined; readonly refusal?: string | undefined } = {},
  ) {
    super(message);
    this.name = 'ModelError';
    this.code = code;
    this.status = status;
    this.refusal = refusal;
  }
}
