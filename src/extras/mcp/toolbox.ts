import type { CallToolResult, Tool as ListedTool } from '@modelcontextprotocol/server';
import { AppError } from '@picket/lib/errors.ts';
import { refuseRole } from '@picket/platform/http/auth.ts';
import type { AccountCaller } from '@picket/platform/ids/callers.ts';
import { typedCheckRoutes } from '@picket/protocol/checks/check.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import type { CallApi } from '@picket/service/mcp/calls.ts';
import { fileAnswer, rangeFor, refusal, refusalWords, textAnswer } from './answers.ts';
import { schemaOf } from './tools/json-schema.ts';
import { readingTools } from './tools/reading.ts';
import { ArgumentError, cursorArgument, Tool } from './tools/tool.ts';
import { writingTools } from './tools/writing.ts';

/** The caller of the tools, and whether it requested those that change something. */
export interface ToolUser {
  readonly caller: Pick<AccountCaller, 'role'>;
  readonly wantsToWrite: boolean;
  readonly call: CallApi;
}

type Arguments = Readonly<Record<string, unknown>>;

/**
 * Result of a tool call: refused if the arguments or the service's state forbid it, failed if the service is at fault.
 */
export interface Called {
  readonly result: CallToolResult;
  readonly outcome: 'done' | 'refused' | 'failed';
}

/** The tools of the API, created from its route table. */
export class Toolbox {
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #listed: ReadonlyMap<string, ListedTool>;

  constructor(routes: readonly Route[]) {
    const table = new Map(routes.map((route) => [route.operationId, route]));
    const tools = [...readingTools, ...writingTools].map((spec) => new Tool(spec, table));
    this.#tools = new Map(tools.map((tool) => [tool.spec.name, tool]));
    this.#listed = new Map(tools.map((tool) => [tool.spec.name, listed(tool)]));
  }

  /** Names of all tools. */
  get names(): readonly string[] {
    return [...this.#tools.keys(), describeCheckType.name];
  }

  /** Tools that the user may call now. */
  list(user: Pick<ToolUser, 'caller' | 'wantsToWrite'>): ListedTool[] {
    const offered = [...this.#tools.values()].filter((tool) => whyNot(tool, user) === undefined);
    const tools = offered.flatMap(({ spec }) => this.#listed.get(spec.name) ?? []);
    return offered.some(({ spec }) => spec.name === 'create_check') ? [...tools, describeCheckType] : tools;
  }

  /** Calls a tool; errors become a result in words. Undefined if the tool does not exist. */
  async call(name: string, args: Arguments, user: ToolUser): Promise<Called | undefined> {
    if (name === describeCheckType.name) return called(describe(args));
    const tool = this.#tools.get(name);
    if (!tool) return undefined;
    const reason = whyNot(tool, user);
    if (reason !== undefined) return called(refusal(reason));
    try {
      return await answer(tool, args, user);
    } catch (thrown) {
      if (thrown instanceof ArgumentError) return called(refusal(thrown.message));
      if (!(thrown instanceof AppError)) throw thrown;
      const result = refusal(refusalWords(thrown));
      return thrown.statusCode >= 500 ? { result, outcome: 'failed' } : called(result);
    }
  }
}

function listed({ spec, isWriting, inputSchema, routes }: Tool): ListedTool {
  return {
    name: spec.name,
    title: spec.title,
    description: spec.description,
    inputSchema: inputSchema as ListedTool['inputSchema'],
    annotations: {
      readOnlyHint: !isWriting,
      ...(isWriting ? { destructiveHint: routes.some(({ method }) => method !== 'POST') } : {}),
      openWorldHint: false,
    },
  };
}

/** Why a tool is not offered to a user; undefined if it is. */
function whyNot(
  { spec, isWriting, routes }: Tool,
  { caller, wantsToWrite }: Pick<ToolUser, 'caller' | 'wantsToWrite'>,
): string | undefined {
  try {
    for (const route of routes) refuseRole(route, caller);
  } catch (thrown) {
    if (thrown instanceof AppError) return refusalWords(thrown);
    throw thrown;
  }
  if (!isWriting || wantsToWrite) return undefined;
  return `${spec.name} is not offered here: this connection is read-only. Connect to /mcp?write=true, or start "picket mcp --write", for tools that write.`;
}

function called(result: CallToolResult): Called {
  return { result, outcome: result.isError ? 'refused' : 'done' };
}

async function answer(tool: Tool, args: Arguments, { call }: ToolUser): Promise<Called> {
  const { spec, isWriting } = tool;
  const { route, input } = tool.requestFor(args);
  const cursor = args[cursorArgument] === undefined ? undefined : String(args[cursorArgument]);
  const form = { isForeign: spec.isForeign === true, cursor, isWriting };
  const range = spec.isFile ? rangeFor(cursor) : undefined;
  const answered = await call(route, input, range === undefined ? {} : { range });
  return called(spec.isFile ? fileAnswer(answered, form) : textAnswer(answered, form));
}

/** The only tool that does not call the service: it describes the fields of a check type. */
const describeCheckType = {
  name: 'describe_check_type',
  title: 'Fields of a check type',
  description: 'The fields of create_check and update_check for a check type, as JSON Schema.',
  inputSchema: {
    type: 'object' as const,
    properties: { checkType: { type: 'string', enum: [...typedCheckRoutes.keys()] } },
    required: ['checkType'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
};

function describe({ checkType }: Arguments): CallToolResult {
  const fields = [...typedCheckRoutes].find(([name]) => name === checkType)?.[1].create.body;
  if (!fields) return refusal(`"checkType" must be one of ${[...typedCheckRoutes.keys()].join(', ')}.`);
  return { content: [{ type: 'text', text: JSON.stringify(schemaOf(fields, 'input')) }] };
}
