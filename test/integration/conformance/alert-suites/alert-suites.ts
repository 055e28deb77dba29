import { describe } from 'vitest';
import { absenceSuite } from './absences.ts';
import type { AlertStage } from './alert-stage.ts';
import { causeSuite } from './causes.ts';
import { channelSuite } from './channels.ts';
import { deadAgentSuite } from './dead-agents.ts';
import { deliverySuite } from './delivery.ts';
import { entrySuite } from './entries.ts';
import { fairnessSuite } from './fairness.ts';
import { gapSuite } from './gaps.ts';
import { handlingSuite } from './handling.ts';
import { incidentSuite } from './incidents.ts';
import { mailSuite } from './mails.ts';
import { outageSuite } from './outages.ts';
import { quietHoursSuite } from './quiet-hours.ts';
import { receiverIncidentSuite } from './receiver-incidents.ts';
import { receiverSuite } from './receivers.ts';
import { rootCauseSuite } from './root-causes.ts';
import { sicknessSuite } from './sickness.ts';
import { sloBurnSuite } from './slo-burns.ts';
import { transitionSuite } from './transitions.ts';
import { withheldSuite } from './withheld.ts';

/**
 * Channels and the messages at their receivers.
 *
 * @param isShared whether several services can use one database.
 */
export function deliverySuites(stage: AlertStage, isShared: boolean): void {
  describe('channels', () => channelSuite(stage));
  describe('transitions', () => transitionSuite(stage));
  describe('delivery', () => deliverySuite(stage, { isShared }));
  describe('mails', () => mailSuite(stage));
  describe('handling', () => handlingSuite(stage));
  describe('the list of alerts', () => entrySuite(stage));
  describe('receivers of every type', () => receiverSuite(stage));
  describe('what is held back', () => withheldSuite(stage));
  describe('incidents at receivers', () => receiverIncidentSuite(stage));
  describe('quiet hours', () => quietHoursSuite(stage));
  describe('fairness', () => fairnessSuite(stage));
}

/** The beginning and end of alerts. */
export function causeSuites(stage: AlertStage): void {
  describe('root causes', () => rootCauseSuite(stage));
  describe('monitoring gaps', () => gapSuite(stage));
  describe('downtime of the service', () => absenceSuite(stage));
  describe('outages of private locations', () => outageSuite(stage));
  describe('dead agents', () => deadAgentSuite(stage));
  describe('unhealthy private locations', () => sicknessSuite(stage));
  describe('objectives', () => sloBurnSuite(stage));
  describe('causes', () => causeSuite(stage));
  describe('incidents and certificates', () => incidentSuite(stage));
}
