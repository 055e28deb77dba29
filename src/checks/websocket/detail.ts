import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { RouteField } from '../contract/facts.ts';
import { ipFamilies } from '../contract/ip-family.ts';
import { CertificateDetail, JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';
import { stepStates } from '../steps/fields.ts';
import { stepTypes } from './spec.ts';

/** Duration of each phase in milliseconds; the phases add up to `total`. */
export const WebSocketTimingPhases = lazySchema(() =>
  z.object({
    dns: z.number(),
    connect: z.number(),
    proxy: z.number(),
    tls: z.number(),
    /** From the request to the headers of its response. */
    handshake: z.number(),
    /** Time that the steps waited. */
    messages: z.number(),
    total: z.number(),
  }),
);

const HeaderMap = lazySchema(() => z.record(z.string(), z.string()));

const WebSocketMessage = lazySchema(() =>
  z.object({
    direction: z.enum(['SENT', 'RECEIVED']),
    type: z.enum(['TEXT', 'BINARY']),
    /** Base64 for a binary message. */
    text: z.string(),
    truncated: z.boolean(),
    sizeBytes: z.int(),
    /** Time at which it was sent or received, in milliseconds since the handshake. */
    atMs: z.number(),
    /** Number of the step that sent or accepted it, from 1; null if no step did. */
    step: z.int().nullable(),
  }),
);

const WebSocketStepDetail = lazySchema(() =>
  z.object({
    type: z.enum(stepTypes),
    state: z.enum(stepStates),
    /** Time that the server took for it. */
    waitMs: z.number(),
    /** Of the last message that the step examined. */
    assertions: z.array(EvaluatedAssertion),
    /** Messages that did not match. */
    skippedCount: z.int(),
  }),
);

/** Result of a run of a WebSocket monitor, shown as `webSocketCheckResult`. */
export const WebSocketDetail = lazySchema(() =>
  z
    .object({
      assertions: z.array(EvaluatedAssertion),
      request: z.object({
        url: z.string(),
        headers: HeaderMap.schema,
        subprotocols: z.array(z.string()),
        /** TLS server name, if the check sets one. */
        serverName: z.string().optional(),
        traceparent: z.string().optional(),
      }),
      steps: z.array(WebSocketStepDetail.schema),
      response: z
        .object({
          /** 101 if the server switched protocols; 0 without a response. */
          status: z.int(),
          statusText: z.string(),
          headers: HeaderMap.schema.nullable(),
          /** Body of a response that refused the handshake, up to 16 KiB. */
          body: z.string(),
          subprotocol: z.string().nullable(),
          ipAddress: z.string().nullable(),
          ipFamily: z.enum(ipFamilies).nullable(),
          certificate: CertificateDetail.schema.nullable(),
          timingPhases: WebSocketTimingPhases.schema,
          messages: z.array(WebSocketMessage.schema),
          /** Messages in the middle of a long exchange, which are not kept. */
          omittedCount: z.int(),
          receivedCount: z.int(),
          pingCount: z.int(),
          /**
           * 1006 if the connection ended without a close frame, 1005 if that frame had no code; null: the connection was
           * not opened.
           */
          closeCode: z.int().nullable(),
          closeReason: z.string(),
          isClosedByTarget: z.boolean(),
          /** From our close frame to the server's; null unless both were sent. Not part of any phase. */
          closeTimeMs: z.number().nullable(),
        })
        .nullable(),
      requestError: z.string().nullable(),
      jobLog: JobLog.schema,
      jobAssets: z.array(z.string()).nullable(),
      pcapDataUrl: z.string().nullable(),
      route: RouteField,
    })
    .meta({ id: 'WebSocketCheckDetail' }),
);
export type WebSocketDetail = z.infer<typeof WebSocketDetail.schema>;
