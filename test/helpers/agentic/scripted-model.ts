import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { ModelAccess, ModelProtocol } from '../../../src/checks/model/access.ts';
import { listen } from '../targets/listening.ts';

/** A tool call of the scripted model. */
export interface ScriptedCall {
  readonly name: string;
  readonly input: unknown;
}

/** A request to the model, decoded from its protocol. */
export interface ScriptedQuestion {
  readonly system: string;
  /** All texts of the conversation, in order. */
  readonly texts: readonly string[];
  /** The last text that the model itself did not write. */
  readonly last: string;
  readonly tools: readonly string[];
  /** The whole request body. */
  readonly body: string;
}

/** The next response of the model: tool calls, text only, or something invalid. `raw` is sent unchanged. */
export type ScriptedTurn =
  | readonly ScriptedCall[]
  | { readonly text: string }
  | { readonly raw: string }
  | { readonly status: number; readonly retryAfter?: string }
  | { readonly cutAfter: number }
  | 'silent'
  /** Closes the connection without a response. */
  | 'cut'
  /** Sends until the reader disconnects. */
  | 'endless';

export interface ScriptedModel {
  readonly url: string;
  readonly questions: readonly ScriptedQuestion[];
  /** Sets the script for all further requests. */
  answerWith(script: Script): void;
  access(overrides?: Partial<ModelAccess>): ModelAccess;
  close(): Promise<void>;
}

/** Turns in order (the last one repeats), or a function of the question. */
export type Script =
  | readonly ScriptedTurn[]
  | ((question: ScriptedQuestion, count: number) => ScriptedTurn | Promise<ScriptedTurn>);

const paths: Readonly<Record<ModelProtocol, string>> = {
  openai: '/v1/chat/completions',
  anthropic: '/v1/messages',
  ollama: '/api/chat',
};

/** Starts a model that responds as the test's script says, over real HTTP and in the given protocol. */
export async function startScriptedModel(protocol: ModelProtocol = 'openai'): Promise<ScriptedModel> {
  const questions: ScriptedQuestion[] = [];
  let script: Script = [];
  let turnCount = 0;
  const server = createServer((request, response) => {
    void readBody(request).then(async (body) => {
      if (request.url !== paths[protocol]) {
        response.writeHead(404).end('no such path');
        return;
      }
      const question = questionOf(protocol, body);
      questions.push(question);
      const index = turnCount++;
      const turn =
        typeof script === 'function' ? await script(question, index) : (script[index] ?? script.at(-1));
      answer(response, protocol, turn ?? { text: 'nothing to say' });
    });
  });
  const { url, port, close } = await listen(server, { scheme: 'http' });
  return {
    url,
    questions,
    answerWith: (next) => {
      script = next;
      turnCount = 0;
    },
    access: (overrides) => ({
      protocol,
      url: `http://127.0.0.1:${port}${protocol === 'openai' ? '/v1' : ''}`,
      name: 'scripted',
      apiKey: 'sk-of-the-scripted-model',
      use: 'run',
      perRun: { tokens: 1_000_000, seconds: 60 },
      perDay: { tokens: 10_000_000, seconds: 600 },
      price: { input: 1, output: 2 },
      ...overrides,
    }),
    close,
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function questionOf(protocol: ModelProtocol, body: string): ScriptedQuestion {
  const { system, messages, tools } = JSON.parse(body) as {
    readonly system?: string;
    readonly messages: readonly { readonly role: string; readonly content: unknown }[];
    readonly tools: readonly { readonly name?: string; readonly function?: { readonly name: string } }[];
  };
  const said = messages.map(({ role, content }) => ({ role, text: textOf(content) }));
  return {
    system: protocol === 'anthropic' ? (system ?? '') : (said[0]?.text ?? ''),
    texts: said.map(({ text }) => text),
    last: said.findLast(({ role }) => role !== 'assistant')?.text ?? '',
    tools: tools.map((tool) => tool.function?.name ?? tool.name ?? ''),
    body,
  };
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: { text?: string; content?: unknown }) => part.text ?? textOf(part.content))
    .join('\n');
}

function answer(response: ServerResponse, protocol: ModelProtocol, turn: ScriptedTurn): void {
  if (turn === 'silent') return;
  if (turn === 'cut') {
    response.destroy();
    return;
  }
  if (turn === 'endless') {
    response.writeHead(200, { 'content-type': 'application/json' });
    const sending = setInterval(() => response.write(' '.repeat(1000)), 20);
    response.on('close', () => clearInterval(sending));
    return;
  }
  if ('status' in turn) {
    const headers = turn.retryAfter === undefined ? {} : { 'retry-after': turn.retryAfter };
    response.writeHead(turn.status, headers).end('{"error":"scripted"}');
    return;
  }
  if ('raw' in turn) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(turn.raw);
    return;
  }
  const calls = 'text' in turn || 'cutAfter' in turn ? [] : turn;
  const body = JSON.stringify(answerOf(protocol, 'text' in turn ? turn.text : '', calls));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  if ('cutAfter' in turn) {
    response.write(body.slice(0, turn.cutAfter), () => response.destroy());
    return;
  }
  response.end(body);
}

function answerOf(protocol: ModelProtocol, text: string, calls: readonly ScriptedCall[]): unknown {
  if (protocol === 'anthropic') {
    return {
      content: [
        ...(text === '' ? [] : [{ type: 'text', text }]),
        ...calls.map(({ name, input }, index) => ({ type: 'tool_use', id: `toolu_${index}`, name, input })),
      ],
      usage: { input_tokens: 100, output_tokens: 10 },
    };
  }
  if (protocol === 'ollama') {
    const tool_calls = calls.map(({ name, input }) => ({ function: { name, arguments: input } }));
    return {
      message: { role: 'assistant', content: text, tool_calls },
      prompt_eval_count: 100,
      eval_count: 10,
    };
  }
  const tool_calls = calls.map(({ name, input }, index) => ({
    id: `call_${index}`,
    type: 'function',
    function: { name, arguments: typeof input === 'string' ? input : JSON.stringify(input) },
  }));
  return {
    choices: [{ message: { role: 'assistant', content: text, ...(calls.length > 0 ? { tool_calls } : {}) } }],
    usage: { prompt_tokens: 100, completion_tokens: 10 },
  };
}
