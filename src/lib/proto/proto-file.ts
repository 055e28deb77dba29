import { ProtoSyntaxError, ProtoTokens } from './tokens.ts';
import {
  enumType,
  messageType,
  repeatedLabel,
  scalarTypes,
  wellKnownFiles,
  wellKnownTypes,
} from './types.ts';

export { ProtoSyntaxError } from './tokens.ts';

interface Field {
  name: string;
  number: number;
  label: number;
  type: number;
  typeName?: string;
  jsonName?: string;
  oneofIndex?: number;
  proto3Optional?: boolean;
  options?: { packed: boolean };
}

interface EnumType {
  name: string;
  value: { name: string; number: number }[];
}

interface Message {
  name: string;
  field: Field[];
  nestedType: Message[];
  enumType: EnumType[];
  oneofDecl: { name: string }[];
  options?: { mapEntry: boolean };
}

interface Method {
  name: string;
  inputType: string;
  outputType: string;
  clientStreaming: boolean;
  serverStreaming: boolean;
}

interface Service {
  name: string;
  method: Method[];
}

/** Contents of a file, with the names and numbers of descriptor.proto. */
export interface ProtoFile {
  name: string;
  package: string;
  dependency: string[];
  syntax: string;
  messageType: Message[];
  enumType: EnumType[];
  service: Service[];
}

/** Longer than any handwritten file. */
export const maxProtoLength = 200_000;
const maxDepth = 30;
const label = { optional: 1, required: 2, repeated: repeatedLabel } as const;

/**
 * Reads a `.proto` file in the language of proto2 or proto3. Skips comments, options and extensions, which do not
 * affect messages on the wire. Resolves only imports of well-known types; the types of other imports are missing.
 *
 * @throws ProtoSyntaxError
 */
export function parseProtoFile(text: string): ProtoFile {
  if (text.length > maxProtoLength) {
    throw new ProtoSyntaxError(`the file has ${text.length} characters, the maximum is ${maxProtoLength}`);
  }
  return new FileReader(new ProtoTokens(text)).read();
}

class FileReader {
  readonly #tokens: ProtoTokens;
  #isProto3 = false;
  #package = '';
  /** Full names of the types that the file defines, with their kind. */
  readonly #types = new Map<string, 'message' | 'enum'>(wellKnownTypes);
  /** Work to do once all types are known. */
  readonly #resolutions: (() => void)[] = [];

  constructor(tokens: ProtoTokens) {
    this.#tokens = tokens;
  }

  read(): ProtoFile {
    const tokens = this.#tokens;
    const messages: Message[] = [];
    const enums: EnumType[] = [];
    const services: Service[] = [];
    const imports = new Set<string>();
    while (!tokens.isAtEnd) {
      if (tokens.takeIf(';')) continue;
      const keyword = tokens.identifier();
      if (keyword === 'syntax') this.#readSyntax();
      else if (keyword === 'edition') throw tokens.problem('editions are not supported: use proto3');
      else if (keyword === 'import') imports.add(this.#readImport());
      else if (keyword === 'package') {
        this.#package = tokens.path();
        tokens.expect(';');
      } else if (keyword === 'message') messages.push(this.#readMessage(this.#package, 0));
      else if (keyword === 'enum') enums.push(this.#readEnum(this.#package));
      else if (keyword === 'service') services.push(this.#readService());
      else if (keyword === 'option' || keyword === 'extend') tokens.skipStatement();
      else throw tokens.problem(`expected a definition, found ${JSON.stringify(keyword)}`);
    }
    for (const resolve of this.#resolutions) resolve();
    return {
      name: 'check.proto',
      package: this.#package,
      dependency: wellKnownFiles.filter((name) => imports.has(name)),
      syntax: this.#isProto3 ? 'proto3' : 'proto2',
      messageType: messages,
      enumType: enums,
      service: services,
    };
  }

  #readSyntax(): void {
    this.#tokens.expect('=');
    const syntax = this.#tokens.string();
    if (syntax !== 'proto2' && syntax !== 'proto3') {
      throw this.#tokens.problem(`the syntax ${JSON.stringify(syntax)} is not supported: use proto3`);
    }
    this.#isProto3 = syntax === 'proto3';
    this.#tokens.expect(';');
  }

  #readImport(): string {
    if (/^[a-z]/.test(this.#tokens.peek())) this.#tokens.take();
    const name = this.#tokens.string();
    this.#tokens.expect(';');
    return name;
  }

  #readMessage(scope: string, depth: number): Message {
    const tokens = this.#tokens;
    if (depth > maxDepth) throw tokens.problem(`messages are nested more than ${maxDepth} levels deep`);
    const name = tokens.identifier();
    const ownScope = this.#define(scope, name, 'message');
    const message: Message = { name, field: [], nestedType: [], enumType: [], oneofDecl: [] };
    const optional: Field[] = [];
    tokens.expect('{');
    while (!tokens.takeIf('}')) {
      if (tokens.takeIf(';')) continue;
      const start = tokens.peek();
      if (start === 'message' || start === 'enum') {
        tokens.take();
        if (start === 'message') message.nestedType.push(this.#readMessage(ownScope, depth + 1));
        else message.enumType.push(this.#readEnum(ownScope));
      } else if (start === 'oneof') {
        tokens.take();
        this.#readOneof(message, ownScope);
      } else if (/^(option|extend|extensions|reserved)$/.test(start)) {
        tokens.take();
        tokens.skipStatement();
      } else {
        this.#readField(message, ownScope, optional);
      }
    }
    // The oneofs that represent `optional` follow the written ones.
    for (const field of optional) {
      field.oneofIndex = message.oneofDecl.length;
      message.oneofDecl.push({ name: `_${field.name}` });
    }
    return message;
  }

  #readOneof(message: Message, scope: string): void {
    const oneofIndex = message.oneofDecl.length;
    message.oneofDecl.push({ name: this.#tokens.identifier() });
    this.#tokens.expect('{');
    while (!this.#tokens.takeIf('}')) {
      if (this.#tokens.takeIf(';')) continue;
      if (this.#tokens.takeIf('option')) this.#tokens.skipStatement();
      else Object.assign(this.#readField(message, scope, []), { oneofIndex });
    }
  }

  #readField(message: Message, scope: string, optional: Field[]): Field {
    const tokens = this.#tokens;
    const written = /^(optional|required|repeated)$/.test(tokens.peek()) ? tokens.take() : 'optional-by-rule';
    const typeName = tokens.path();
    if (typeName === 'group') throw tokens.problem('groups are not supported: use a message');
    const isMap = typeName === 'map' && tokens.takeIf('<');
    const entry = isMap ? this.#readMapTypes() : undefined;
    const name = tokens.identifier();
    tokens.expect('=');
    const number = tokens.integer();
    const field: Field = {
      name,
      number,
      label:
        isMap || written === 'repeated'
          ? label.repeated
          : written === 'required'
            ? label.required
            : label.optional,
      type: messageType,
      ...this.#readFieldOptions(),
    };
    tokens.expect(';');
    if (entry) this.#addMapEntry(message, { field, entry, scope });
    else this.#resolveType(field, typeName, scope);
    if (written === 'optional' && this.#isProto3) {
      field.proto3Optional = true;
      optional.push(field);
    }
    message.field.push(field);
    return field;
  }

  #readMapTypes(): readonly [key: string, value: string] {
    const key = this.#tokens.path();
    this.#tokens.expect(',');
    const value = this.#tokens.path();
    this.#tokens.expect('>');
    return [key, value];
  }

  #readFieldOptions(): Pick<Field, 'jsonName' | 'options'> {
    const tokens = this.#tokens;
    const options: { jsonName?: string; options?: { packed: boolean } } = {};
    if (!tokens.takeIf('[')) return options;
    do {
      const name = tokens.takeIf('(') ? '' : tokens.identifier();
      if (name === 'json_name' && tokens.takeIf('=')) options.jsonName = tokens.string();
      else if (name === 'packed' && tokens.takeIf('='))
        options.options = { packed: tokens.take() === 'true' };
      else this.#skipOptionValue(name === '' ? 1 : 0);
    } while (tokens.takeIf(','));
    tokens.expect(']');
    return options;
  }

  #skipOptionValue(openBrackets: number): void {
    let depth = openBrackets;
    while (depth > 0 || !/^[,\]]$/.test(this.#tokens.peek())) {
      const taken = this.#tokens.take();
      if (/^[{[(<]$/.test(taken)) depth += 1;
      if (/^[}\])>]$/.test(taken)) depth -= 1;
      if (depth < 0) throw this.#tokens.problem(`unexpected "${taken}"`);
    }
  }

  #addMapEntry(
    message: Message,
    { field, entry, scope }: { field: Field; entry: readonly [string, string]; scope: string },
  ): void {
    const name = `${field.name.replace(/(?:^|_)([a-zA-Z0-9])/g, (_, letter: string) => letter.toUpperCase())}Entry`;
    const key: Field = { name: 'key', number: 1, label: label.optional, type: messageType };
    const value: Field = { name: 'value', number: 2, label: label.optional, type: messageType };
    const [keyType, valueType] = entry;
    if (!scalarTypes.has(keyType) || /^(double|float|bytes)$/.test(keyType))
      throw this.#tokens.problem(`${keyType} cannot be the key of a map`);
    this.#resolveType(key, keyType, scope);
    this.#resolveType(value, valueType, scope);
    message.nestedType.push({
      ...{ name, field: [key, value], nestedType: [], enumType: [], oneofDecl: [] },
      options: { mapEntry: true },
    });
    field.typeName = `.${this.#define(scope, name, 'message')}`;
  }

  #readEnum(scope: string): EnumType {
    const tokens = this.#tokens;
    const name = tokens.identifier();
    this.#define(scope, name, 'enum');
    const value: { name: string; number: number }[] = [];
    tokens.expect('{');
    while (!tokens.takeIf('}')) {
      if (tokens.takeIf(';')) continue;
      const start = tokens.identifier();
      if (tokens.takeIf('=')) {
        value.push({ name: start, number: tokens.integer() });
        this.#readFieldOptions();
        tokens.expect(';');
      } else if (start === 'option' || start === 'reserved') tokens.skipStatement();
      else throw tokens.problem(`expected "=", found ${JSON.stringify(tokens.peek())}`);
    }
    if (value.length === 0) throw tokens.problem(`the enum ${name} has no values`);
    return { name, value };
  }

  #readService(): Service {
    const tokens = this.#tokens;
    const name = tokens.identifier();
    const method: Method[] = [];
    tokens.expect('{');
    while (!tokens.takeIf('}')) {
      if (tokens.takeIf(';')) continue;
      const keyword = tokens.identifier();
      if (keyword === 'rpc') method.push(this.#readMethod());
      else if (keyword === 'option') tokens.skipStatement();
      else throw tokens.problem(`expected "rpc", found ${JSON.stringify(keyword)}`);
    }
    return { name, method };
  }

  #readMethod(): Method {
    const tokens = this.#tokens;
    const method = { ...{ name: tokens.identifier(), inputType: '', outputType: '' }, ...unary };
    const [input, clientStreaming] = this.#readMethodType();
    if (tokens.identifier() !== 'returns') throw tokens.problem('expected "returns"');
    const [output, serverStreaming] = this.#readMethodType();
    if (tokens.peek() === '{') tokens.skipStatement();
    else tokens.expect(';');
    this.#resolutions.push(() => {
      method.inputType = `.${this.#wholeName(input, this.#package)}`;
      method.outputType = `.${this.#wholeName(output, this.#package)}`;
    });
    return Object.assign(method, { clientStreaming, serverStreaming });
  }

  #readMethodType(): readonly [name: string, isStream: boolean] {
    const tokens = this.#tokens;
    tokens.expect('(');
    let name = tokens.path();
    const isStream = name === 'stream' && tokens.peek() !== ')';
    if (isStream) name = tokens.path();
    tokens.expect(')');
    return [name, isStream];
  }

  #define(scope: string, name: string, kind: 'message' | 'enum'): string {
    const whole = scope === '' ? name : `${scope}.${name}`;
    if (this.#types.has(whole)) throw this.#tokens.problem(`${whole} is defined twice`);
    this.#types.set(whole, kind);
    return whole;
  }

  #resolveType(field: Field, typeName: string, scope: string): void {
    const scalar = scalarTypes.get(typeName);
    if (scalar !== undefined) {
      field.type = scalar;
      return;
    }
    this.#resolutions.push(() => {
      const whole = this.#wholeName(typeName, scope);
      field.typeName = `.${whole}`;
      field.type = this.#types.get(whole) === 'enum' ? enumType : messageType;
    });
  }

  /** Resolves a name to the nearest type of that name, from the inside out. */
  #wholeName(name: string, scope: string): string {
    if (name.startsWith('.') && this.#types.has(name.slice(1))) return name.slice(1);
    for (let outer = scope; ; outer = outer.slice(0, Math.max(0, outer.lastIndexOf('.')))) {
      const whole = outer === '' ? name : `${outer}.${name}`;
      if (this.#types.has(whole)) return whole;
      if (outer === '') break;
    }
    throw new ProtoSyntaxError(
      `the type ${name} is not defined in the file; only imports of google/protobuf are supported: add its definition to the file`,
    );
  }
}

const unary = { clientStreaming: false, serverStreaming: false };
