/** A conversation with a model, whatever its protocol. */

/** A tool that a model may call; `input` is a JSON schema. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface ModelCall {
  readonly id: string;
  readonly name: string;
  /** What the model gave, unchecked; undefined where it was no JSON. */
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
  /** Most tokens of the answer. */
  readonly maxAnswerTokens: number;
}

export interface ModelAnswer {
  readonly text: string;
  readonly calls: readonly ModelCall[];
  /** As the provider says; 0 where it says nothing. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** A question as it is sent. */
export interface ModelRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** How a protocol writes questions and reads answers; both are pure. */
export interface ModelDialect {
  request(
    question: ModelQuestion,
    access: { readonly name: string; readonly apiKey?: string | undefined },
  ): ModelRequest;
  /** @throws Error for what is no answer. */
  answer(body: unknown): ModelAnswer;
}

/** Why a model gave no answer that can be used. */
export class ModelError extends Error {
  readonly code: 'MODEL_UNAVAILABLE' | 'MODEL_ANSWER_INVALID' | 'MODEL_LIMIT_EXCEEDED';
  /** What the provider refused with, where it did. */
  readonly status: number | undefined;
  /** The body of that refusal, cut. */
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
