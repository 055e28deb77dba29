import { expect, it } from 'vitest';
import { parseProtoFile } from './proto-file.ts';
import { fileDescriptorOf, ProtoMethod } from './registry.ts';

const proto = `
  syntax = "proto3";
  package t;
  import "google/protobuf/struct.proto";
  import "google/protobuf/wrappers.proto";
  service Echo { rpc Say(Message) returns (Message); }
  message Message {
    int64 whole = 1;
    repeated uint64 list = 2;
    map<string, sint64> map = 3;
    map<string, Message> inner = 4;
    Message child = 5 [json_name = "kind"];
    double real = 6;
    google.protobuf.Value any = 7;
    google.protobuf.Int64Value wrapped = 8;
    string text = 9;
  }`;

const method = new ProtoMethod([fileDescriptorOf(parseProtoFile(proto))], {
  service: 't.Echo',
  method: 'Say',
});
const roundTrip = (json: string) => method.decode(method.encode(json)) as Record<string, unknown>;
const large = '9007199254740993';

it('keeps every digit of 64-bit integers that are written as numbers', () => {
  const read = roundTrip(`{
    "whole": -${large}, "list": [1, 18446744073709551615], "map": {"a": ${large}},
    "inner": {"x": {"whole": ${large}}}, "kind": {"whole": ${large}}, "wrapped": ${large},
    "text": "${large}"
  }`);
  expect(read).toMatchObject({
    ...{ whole: `-${large}`, list: ['1', '18446744073709551615'], map: { a: large } },
    ...{ inner: { x: { whole: large } }, kind: { whole: large }, wrapped: large, text: large },
  });
});

it('leaves numbers that are not integers of a message unchanged', () => {
  const read = roundTrip(`{"real": ${large}, "any": {"n": ${large}, "t": "${large}"}, "whole": 7}`);
  expect(read).toMatchObject({ real: Number(large), any: { n: Number(large), t: large }, whole: '7' });
  expect(() => roundTrip('{"whole": 99999999999999999999}')).toThrow(/does not fit/);
  expect(() => roundTrip('{"text": 9007199254740993}')).toThrow(/does not fit/);
});
