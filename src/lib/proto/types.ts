/** Numbers of descriptor.proto, FieldDescriptorProto.Type. */
export const messageType = 11;
export const enumType = 14;
/** FieldDescriptorProto.Label. */
export const repeatedLabel = 3;

export const scalarTypes: ReadonlyMap<string, number> = new Map([
  ['double', 1],
  ['float', 2],
  ['int64', 3],
  ['uint64', 4],
  ['int32', 5],
  ['fixed64', 6],
  ['fixed32', 7],
  ['bool', 8],
  ['string', 9],
  ['bytes', 12],
  ['uint32', 13],
  ['sfixed32', 15],
  ['sfixed64', 16],
  ['sint32', 17],
  ['sint64', 18],
]);

/** Files that are known by name without being sent or written. */
export const wellKnownFiles: readonly string[] = [
  'any',
  'duration',
  'empty',
  'field_mask',
  'struct',
  'timestamp',
  'wrappers',
].map((name) => `google/protobuf/${name}.proto`);

const messages = [
  ...['Any', 'Duration', 'Empty', 'FieldMask', 'Struct', 'Value', 'ListValue', 'Timestamp'],
  ...['DoubleValue', 'FloatValue', 'Int64Value', 'UInt64Value', 'Int32Value', 'UInt32Value'],
  ...['BoolValue', 'StringValue', 'BytesValue'],
];

/** The types defined in those files. */
export const wellKnownTypes: readonly (readonly [name: string, kind: 'message' | 'enum'])[] = [
  ...messages.map((name) => [`google.protobuf.${name}`, 'message'] as const),
  ['google.protobuf.NullValue', 'enum'],
];
