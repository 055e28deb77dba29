import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { hasTemplate } from '@picket/lib/text.ts';
import { z } from 'zod';
import { thresholdMs } from '../contract/definition/common-fields.ts';
import { IpFamilyField } from '../contract/ip-family.ts';
import type { MaskedValue } from '../contract/masking.ts';
import { hasZone, ServerName, TraceparentHosts, zoneInUrl } from '../contract/target.ts';
import { tcpAssertionSchema } from '../http/connection-assertion.ts';
import { assertionSchema, comparisons } from '../judging/assertion.ts';
import { stepTimeout } from '../steps/fields.ts';

const isBase64 = (text: string) => /^[A-Za-z0-9+/]*={0,2}$/.test(text);

export const stepTypes = ['SEND', 'EXPECT', 'EXPECT_CLOSE'] as const;

const maxTimeoutMs = 60_000;

/** Headers that the protocol determines and a check must not set. */
const ownHeaders = /^(connection|upgrade|content-length|transfer-encoding|sec-websocket-.*)$/i;

const Header = lazySchema(() =>
  z.object({
    key: z
      .string()
      .min(1)
      .refine((key) => !ownHeaders.test(key.trim()), { error: 'is set by the protocol itself' }),
    value: z.string().default(''),
    locked: z.boolean().default(false),
  }),
);

const Step = lazySchema(() =>
  z
    .object({
      type: z
        .enum(stepTypes)
        .describe(
          'SEND: sends a message; EXPECT: waits for one; EXPECT_CLOSE: waits until the server closes',
        ),
      message: z.string().max(100_000).default('').describe('SEND: the text, JSON or not'),
      isBinary: z
        .boolean()
        .default(false)
        .describe('SEND: message is base64, and its bytes are sent as a binary message'),
      assertions: z
        .array(assertionSchema(['TEXT_BODY', 'JSON_BODY'], comparisons))
        .max(20)
        .default([])
        .describe('EXPECT: assertions on the message; empty: any message'),
      skipOthers: z
        .boolean()
        .default(false)
        .describe('EXPECT: skip messages that do not match; false: the next message must match'),
      timeoutMs: stepTimeout('EXPECT, EXPECT_CLOSE', maxTimeoutMs),
    })
    .superRefine((step, context) => {
      const refuse = (path: string, message: string) =>
        context.addIssue({ code: 'custom', path: [path], message });
      const { type, message, isBinary, assertions, skipOthers, timeoutMs } = step;
      if (type !== 'SEND') {
        if (message !== '') refuse('message', 'belongs to the type SEND');
        if (isBinary) refuse('isBinary', 'belongs to the type SEND');
      } else {
        if (timeoutMs !== null) refuse('timeoutMs', 'belongs to EXPECT and EXPECT_CLOSE');
        const isReadable = hasTemplate(message) || isBase64(message);
        if (isBinary && !isReadable) refuse('message', 'must be base64, because isBinary is true');
      }
      if (type !== 'EXPECT') {
        if (assertions.length > 0) refuse('assertions', 'belong to the type EXPECT');
        if (skipOthers) refuse('skipOthers', 'belongs to the type EXPECT');
      } else if (skipOthers && assertions.length === 0) {
        refuse('skipOthers', 'needs assertions: without them, every message matches');
      }
    }),
);
export type WebSocketStep = z.output<typeof Step.schema>;

/** A WebSocket monitor: a handshake, and an exchange step by step. */
export const WebSocketSpec = lazySchema(() =>
  z.object({
    shouldFail: z.boolean().default(false),
    request: z
      .object({
        url: z
          .string()
          .max(2048)
          .regex(/^(wss?:\/\/|\{\{)/i, 'must start with ws:// or wss://, or with a {{template}}')
          .refine((url) => !hasZone(url), { error: zoneInUrl }),
        headers: z.array(Header.schema).max(100).default([]),
        basicAuth: z.object({ username: z.string(), password: z.string() }).nullable().default(null),
        subprotocols: z
          .array(
            z
              .string()
              .min(1)
              .max(200)
              .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, 'must be a token: without spaces and commas'),
          )
          .max(20)
          .refine((names) => new Set(names).size === names.length, { error: 'must not contain duplicates' })
          .default([])
          .describe('Subprotocols to offer, in this order; the server must accept one of them'),
        skipSSL: z.boolean().default(false),
        serverName: ServerName,
        ipFamily: IpFamilyField,
        traceparentHosts: TraceparentHosts,
        timeout: z
          .int()
          .min(1)
          .max(maxTimeoutMs / 1000)
          .default(30)
          .describe('Timeout of the connection and the conversation, in seconds'),
        steps: z
          .array(Step.schema)
          .max(50)
          .default([])
          .describe(
            'Steps of the conversation; the connection is closed after the last. Empty: the handshake only',
          ),
        assertions: z
          .array(
            tcpAssertionSchema(
              [
                'RESPONSE_TIME',
                'STATUS_CODE',
                'HEADERS',
                'SUBPROTOCOL',
                'JSON_BODY',
                'TEXT_BODY',
                'MESSAGE_COUNT',
                'CLOSE_CODE',
                'CLOSE_REASON',
              ],
              comparisons,
            ),
          )
          .default([]),
      })
      .refine(({ serverName, url }) => serverName === null || !/^ws:/i.test(url), {
        path: ['serverName'],
        error: 'needs a wss URL',
      }),
    degradedResponseTime: thresholdMs({ defaultMs: 5000, maxMs: maxTimeoutMs }),
    maxResponseTime: thresholdMs({ defaultMs: 20_000, maxMs: maxTimeoutMs }),
  }),
);
export type WebSocketSpec = z.output<typeof WebSocketSpec.schema>;

/** Values of a WebSocket monitor that API responses never show. */
const sentTo = [['request', 'url']] as const;

export const maskedInWebSocket: readonly MaskedValue[] = [
  { path: ['request', 'headers'], flags: ['locked'], sentTo },
  { path: ['request', 'basicAuth', 'password'], sentTo },
];
