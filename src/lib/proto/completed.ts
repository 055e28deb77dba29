import type { DescriptorProto, FieldDescriptorProto, FileDescriptorProto } from '@bufbuild/protobuf/wkt';
import { enumType, messageType } from './types.ts';

type Kind = typeof messageType | typeof enumType;
type Types = Map<string, { readonly kind: Kind; readonly file: string }>;

/**
 * Completes descriptors that omit derivable parts, such as those of protobuf.js: type names are relative (to be
 * resolved from the inside out, as in C++), JSON names and imports are missing.
 *
 * @param known complete files that may be used without being sent.
 */
export function completeDescriptors(
  files: readonly FileDescriptorProto[],
  known: readonly FileDescriptorProto[],
): void {
  const types: Types = new Map();
  for (const file of [...known, ...files]) {
    collect(file.package, file.messageType, file.enumType, (name, kind) =>
      types.set(name, { kind, file: file.name }),
    );
  }
  for (const file of files) {
    const used = new Set<string>();
    const qualified = (name: string, scope: string) => {
      const whole = wholeName(name, scope, types);
      const definedIn = types.get(whole.slice(1))?.file;
      if (definedIn !== undefined && definedIn !== file.name) used.add(definedIn);
      return whole;
    };
    const completeField = (field: FieldDescriptorProto, scope: string) => {
      if (field.jsonName === '') field.jsonName = jsonNameOf(field.name);
      if (field.extendee !== '') field.extendee = qualified(field.extendee, scope);
      if (field.typeName === '') return;
      field.typeName = qualified(field.typeName, scope);
      const known = types.get(field.typeName.slice(1));
      if (Number(field.type) === 0 && known) field.type = known.kind;
    };
    const completeMessage = (message: DescriptorProto, scope: string) => {
      const ownScope = scope === '' ? message.name : `${scope}.${message.name}`;
      for (const field of [...message.field, ...message.extension]) completeField(field, ownScope);
      for (const nested of message.nestedType) completeMessage(nested, ownScope);
    };
    for (const message of file.messageType) completeMessage(message, file.package);
    for (const extension of file.extension) completeField(extension, file.package);
    for (const method of file.service.flatMap((service) => service.method)) {
      method.inputType = qualified(method.inputType, file.package);
      method.outputType = qualified(method.outputType, file.package);
    }
    file.dependency = [...new Set([...file.dependency, ...used])];
  }
}

/** Default JSON name of a field: underscores removed, the letter after each capitalized. */
function jsonNameOf(name: string): string {
  return name.replace(/_+(.?)/g, (_, next: string) => next.toUpperCase());
}

function collect(
  scope: string,
  messages: readonly DescriptorProto[],
  enums: readonly { readonly name: string }[],
  add: (name: string, kind: Kind) => void,
): void {
  const inScope = (name: string) => (scope === '' ? name : `${scope}.${name}`);
  for (const { name } of enums) add(inScope(name), enumType);
  for (const { name, nestedType, enumType: nestedEnums } of messages) {
    add(inScope(name), messageType);
    collect(inScope(name), nestedType, nestedEnums, add);
  }
}

/** An unknown name stays unchanged: the registry reports it. */
function wholeName(name: string, scope: string, types: Types): string {
  if (name.startsWith('.')) return name;
  for (let outer = scope; ; outer = outer.slice(0, Math.max(0, outer.lastIndexOf('.')))) {
    const whole = outer === '' ? name : `${outer}.${name}`;
    if (types.has(whole)) return `.${whole}`;
    if (outer === '') return `.${name}`;
  }
}
