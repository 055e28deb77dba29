import type { Route } from '@picket/protocol/http/route.ts';
import type { z } from 'zod';
import { type JsonSchema, schemaOf } from './json-schema.ts';
import type { ToolSpec } from './spec.ts';

/** Input of an operation. */
export interface OperationInput {
  readonly params: Readonly<Record<string, string>>;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly body?: unknown;
}

/** Arguments that are not valid for any operation. The message is for the model. */
export class ArgumentError extends Error {}

/** The argument that requests the next part of a result that was too large. */
export const cursorArgument = 'cursor';

type Arguments = Readonly<Record<string, unknown>>;

/** A tool with the operations of the route table that it calls. */
export class Tool {
  readonly spec: ToolSpec;
  /** Whether a call changes something or runs checks. */
  readonly isWriting: boolean;
  readonly inputSchema: JsonSchema & { readonly type: 'object' };
  readonly routes: readonly Route[];
  readonly #choices: ReadonlyMap<string, Route>;
  readonly #arguments: readonly string[];

  /** @throws Error if the table has no such operation, or two of its fields share a name. */
  constructor(spec: ToolSpec, table: ReadonlyMap<string, Route>) {
    const named = (operationId: string): Route => {
      const route = table.get(operationId);
      if (!route) throw new Error(`${spec.name}: there is no operation ${operationId}`);
      return route;
    };
    this.spec = spec;
    this.#choices = new Map([...(spec.choice?.operations ?? [])].map(([value, id]) => [value, named(id)]));
    this.routes = spec.choice ? [...this.#choices.values()] : spec.operations.map(named);
    this.isWriting = this.routes.some(({ method, isReadOnly }) => method !== 'GET' && !isReadOnly);
    const { properties, required, definitions } = this.#fields();
    this.#arguments = Object.keys(properties);
    this.inputSchema = {
      type: 'object',
      properties,
      ...(required.size > 0 ? { required: [...required] } : {}),
      ...(Object.keys(definitions).length > 0 ? { $defs: definitions } : {}),
      additionalProperties: false,
    };
  }

  #fields() {
    const { spec, routes } = this;
    const properties: JsonSchema = {};
    const required = new Set<string>();
    let definitions: JsonSchema = {};
    for (const route of routes) {
      for (const [name, field] of Object.entries(route.params?.shape ?? {})) {
        const argument = this.#argumentOf(name);
        properties[argument] ??= schemaOf(field as z.ZodType, 'output');
        if (routes.every((other) => this.#pathArguments(other).includes(argument))) required.add(argument);
      }
      for (const [name, field] of this.#queryOf(route)) {
        // Its type (a number, a boolean), although an address contains it as text.
        properties[name] ??= schemaOf(field, 'output');
        if (!field.safeParse(undefined).success) required.add(name);
      }
      const body = this.#bodyOf(route);
      for (const name of Object.keys(body.properties)) {
        if (properties[name]) throw new Error(`${spec.name}: two fields are called ${name}`);
      }
      Object.assign(properties, body.properties);
      definitions = { ...definitions, ...body.definitions };
      for (const name of body.required) required.add(name);
    }
    if (spec.choice) {
      const { argument, description } = spec.choice;
      properties[argument] = { type: 'string', enum: [...this.#choices.keys()], description };
      required.add(argument);
    }
    if (!this.isWriting) {
      properties[cursorArgument] = {
        type: 'string',
        description: 'Only to continue a long answer: the cursor at the end of the previous part',
      };
    }
    return { properties, required, definitions };
  }

  #bodyOf(route: Route): { properties: JsonSchema; definitions: JsonSchema; required: readonly string[] } {
    const body = route.documentedBody ?? route.body;
    if (!body) return { properties: {}, definitions: {}, required: [] };
    const { bodyAs } = this.spec;
    if (bodyAs) {
      const { name, description } = bodyAs;
      return { properties: { [name]: { type: 'object', description } }, definitions: {}, required: [name] };
    }
    const { properties = {}, $defs = {}, required = [] } = schemaOf(body, 'input');
    return {
      properties: properties as JsonSchema,
      definitions: $defs as JsonSchema,
      required: required as string[],
    };
  }

  #queryOf(route: Route): [string, z.ZodType][] {
    const fields = Object.entries(route.query?.shape ?? {}) as [string, z.ZodType][];
    return fields.filter(([name]) => !this.spec.without?.includes(name));
  }

  #argumentOf(parameter: string): string {
    return this.spec.names?.[parameter] ?? parameter;
  }

  #pathArguments(route: Route): string[] {
    return Object.keys(route.params?.shape ?? {}).map((parameter) => this.#argumentOf(parameter));
  }

  /**
   * The operation to call for some arguments, and its input. The operation itself validates the values.
   *
   * @throws ArgumentError
   */
  requestFor(args: Arguments): { readonly route: Route; readonly input: OperationInput } {
    const { spec } = this;
    const unknown = Object.keys(args).filter((name) => !this.#arguments.includes(name));
    if (unknown.length > 0) {
      const [name = ''] = unknown;
      throw new ArgumentError(
        `"${name.slice(0, 100)}" is not an argument of ${spec.name}. It takes: ${this.#arguments.join(', ')}.`,
      );
    }
    const route = this.#routeFor(args);
    const query: [string, string][] = [];
    const body: Record<string, unknown> = {};
    const queryNames = new Set(this.#queryOf(route).map(([name]) => name));
    const parameters = Object.keys(route.params?.shape ?? {});
    const ofPath = new Set(this.#pathArguments(route));
    const hasBody = (route.documentedBody ?? route.body) !== undefined;
    for (const [name, value] of Object.entries(args)) {
      if (ofPath.has(name) || name === cursorArgument || name === spec.choice?.argument) continue;
      if (queryNames.has(name)) query.push(...queryValues(name, value));
      else if (hasBody) body[name] = value;
      else throw new ArgumentError(`"${name}" does not go with the other arguments.`);
    }
    const params = Object.fromEntries(
      parameters.map((name) => [name, pathValue(this.#argumentOf(name), args[this.#argumentOf(name)])]),
    );
    const sent = spec.bodyAs ? (body[spec.bodyAs.name] ?? {}) : body;
    return { route, input: { params, query, ...(hasBody ? { body: sent } : {}) } };
  }

  #routeFor(args: Arguments): Route {
    const { name, choice } = this.spec;
    if (choice) {
      const chosen = this.#choices.get(String(args[choice.argument]));
      if (chosen) return chosen;
      throw new ArgumentError(`"${choice.argument}" must be one of ${[...this.#choices.keys()].join(', ')}.`);
    }
    const isComplete = (route: Route) =>
      this.#pathArguments(route).every((argument) => args[argument] !== undefined);
    const route = this.routes.find(isComplete) ?? this.routes[0];
    if (!route) throw new Error(`${name} has no operation`);
    return route;
  }
}

function pathValue(name: string, value: unknown): string {
  if (value === undefined || value === null) throw new ArgumentError(`"${name}" is required.`);
  if (typeof value !== 'string' && typeof value !== 'number') {
    throw new ArgumentError(`"${name}" must be a text.`);
  }
  const text = String(value);
  // Dots alone would resolve to another path.
  if (text.split('/').some((part) => /^\.*$/.test(part))) {
    throw new ArgumentError(`"${name}" must not be empty, or have a part that is empty or made of dots.`);
  }
  return text;
}

function queryValues(name: string, value: unknown): [string, string][] {
  return (Array.isArray(value) ? value : [value]).map((one) => {
    if (!['string', 'number', 'boolean'].includes(typeof one)) {
      throw new ArgumentError(`"${name}" must be a text, a number, true or false, or a list of these.`);
    }
    return [name, String(one)];
  });
}
