import { z } from 'zod';
import { RouteField } from '../contract/facts.ts';
import { ipFamilies } from '../contract/ip-family.ts';
import { CertificateDetail, JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';
import { stepStates } from '../steps/fields.ts';
import { stepTypes } from './spec.ts';

/** Milliseconds each step took; all but `total` add up to it. */
export const WebSocketTimingPhases = z.object({
  dns: z.number(),
  connect: z.number(),
  proxy: z.number(),
  tls: z.number(),
  /** From the request to the head of its answer. */
  handshake: z.number(),
  /** What the steps waited for. */
  messages: z.number(),
  total: z.number(),
});

const HeaderMap = z.record(z.string(), z.string());

const WebSocketMessage = z.object({
  direction: z.enum(['SENT', 'RECEIVED']),
  type: z.enum(['TEXT', 'BINARY']),
  /** Base64 of a binary one. */
  text: z.string(),
  truncated: z.boolean(),
  sizeBytes: z.int(),
  /** Milliseconds since the handshake at which it left or arrived. */
  atMs: z.number(),
  /** The number of the step that sent or took it, from 1; null for one that no step took. */
  step: z.int().nullable(),
});

const WebSocketStepDetail = z.object({
  type: z.enum(stepTypes),
  state: z.enum(stepStates),
  /** How long the server took for it. */
  waitMs: z.number(),
  /** Of the last message it looked at. */
  assertions: z.array(EvaluatedAssertion),
  /** Messages that did not fit. */
  skippedCount: z.int(),
});

/** What a WebSocket monitor found out, as `webSocketCheckResult` shows it. */
export const WebSocketDetail = z
  .object({
    assertions: z.array(EvaluatedAssertion),
    request: z.object({
      url: z.string(),
      headers: HeaderMap,
      subprotocols: z.array(z.string()),
      /** The name for TLS, where the check sets one. */
      serverName: z.string().optional(),
      traceparent: z.string().optional(),
    }),
    steps: z.array(WebSocketStepDetail),
    response: z
      .object({
        /** 101 where both sides agreed; 0 without an answer. */
        status: z.int(),
        statusText: z.string(),
        headers: HeaderMap.nullable(),
        /** What a server said that did not agree, up to 16 KiB. */
        body: z.string(),
        subprotocol: z.string().nullable(),
        ipAddress: z.string().nullable(),
        ipFamily: z.enum(ipFamilies).nullable(),
        certificate: CertificateDetail.nullable(),
        timingPhases: WebSocketTimingPhases,
        messages: z.array(WebSocketMessage),
        /** Messages in the middle of a long conversation, which are not kept. */
        omittedCount: z.int(),
        receivedCount: z.int(),
        pingCount: z.int(),
        /** 1006 where the connection ended without a close frame, 1005 where that had no code; null: it was not opened. */
        closeCode: z.int().nullable(),
        closeReason: z.string(),
        isClosedByTarget: z.boolean(),
        /** From our close frame to the server's; null without both. In no phase. */
        closeTimeMs: z.number().nullable(),
      })
      .nullable(),
    requestError: z.string().nullable(),
    jobLog: JobLog,
    jobAssets: z.array(z.string()).nullable(),
    pcapDataUrl: z.string().nullable(),
    route: RouteField,
  })
  .meta({ id: 'WebSocketCheckDetail' });
export type WebSocketDetail = z.infer<typeof WebSocketDetail>;
