import { agentic } from './agentic/check.ts';
import { api } from './api/check.ts';
import { browser } from './browser/check.ts';
import type { CheckType } from './contract/check-type.ts';
import { dns } from './dns/check.ts';
import { domain } from './domain/check.ts';
import { grpc } from './grpc/check.ts';
import { heartbeat } from './heartbeat/check.ts';
import { icmp } from './icmp/check.ts';
import { multiStep } from './multi-step/check.ts';
import { ntp } from './ntp/check.ts';
import { playwright } from './playwright/check.ts';
import { sql } from './sql/check.ts';
import { ssl } from './ssl/check.ts';
import { tcp } from './tcp/check.ts';
import { traceroute } from './traceroute/check.ts';
import { udp } from './udp/check.ts';
import { url } from './url/check.ts';
import { webSocket } from './websocket/check.ts';

/**
 * The registry: one line per check type. Routes, storage, leasing, validation and the reference are derived from it.
 */
export const checkTypes: readonly CheckType[] = [
  api,
  url,
  dns,
  domain,
  tcp,
  udp,
  sql,
  ssl,
  grpc,
  webSocket,
  icmp,
  traceroute,
  ntp,
  browser,
  multiStep,
  playwright,
  heartbeat,
  agentic,
];

/** All values of `checkType`, for fields that contain one. */
export const checkTypeNames: readonly string[] = checkTypes.map(({ name }) => name);

const byName = new Map(checkTypes.map((type) => [type.name, type]));

/** Returns the check type with that name, or undefined if this build does not have it. */
export function findCheckType(name: string): CheckType | undefined {
  return byName.get(name);
}
