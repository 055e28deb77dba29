import type { Rule } from '../conclusion.ts';
import type { AnalysisInput } from '../run-view/case.ts';
import { changedCheck } from './change.ts';
import { brokenAnswer, failedConnection, failedProxy } from './connection.ts';
import { brokenDialogue, changedContent } from './content.ts';
import { changedAnswer, failingResolver, missingName, responseCode, silentNameServer } from './dns.ts';
import { failedCall, missingReflection, notServing } from './grpc-answer.ts';
import { endlessRedirects, unexpectedStatus } from './http-status.ts';
import { lostPings } from './icmp.ts';
import { crowdedLocation, incapableLocation, onlyHere, unhealthyLocation } from './location.ts';
import {
  distrustedCheck,
  egressRefusal,
  maintenance,
  missedPing,
  ownError,
  unusableDefinition,
} from './own.ts';
import { endingRegistration, refusedRequest } from './refusal.ts';
import { endedRoute } from './route.ts';
import { scriptError } from './script.ts';
import { grownPhase, lateAnswer } from './slow.ts';
import { badCertificate, failedHandshake } from './tls/certificate.ts';
import { expiringCertificate, refusedStartTls, weakTls } from './tls/terms.ts';

/**
 * All rules in order of precedence: the first conclusion wins. Order: failures that say nothing about the target,
 * causes of many failures at once, changes by users, then faults of the target itself.
 */
export const rules: readonly Rule<AnalysisInput>[] = [
  ...[ownError, unusableDefinition, egressRefusal, distrustedCheck, incapableLocation, failedProxy],
  ...[unhealthyLocation, maintenance, crowdedLocation, onlyHere],
  changedCheck,
  ...[missingName, failingResolver, silentNameServer, responseCode, changedAnswer],
  ...[badCertificate, failedHandshake],
  ...[expiringCertificate, weakTls, refusedStartTls],
  endedRoute,
  ...[failedConnection, lostPings, brokenAnswer],
  ...[lateAnswer, grownPhase],
  ...[notServing, missingReflection, failedCall, brokenDialogue],
  ...[refusedRequest, endingRegistration],
  ...[endlessRedirects, unexpectedStatus, changedContent],
  ...[scriptError, missedPing],
];
