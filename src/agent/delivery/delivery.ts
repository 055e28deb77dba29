import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { LeaseRef } from '@picket/protocol/agent/agent.ts';
import type { LeaseKeeper } from '../client/lease-keeper.ts';
import type { ServiceClient } from '../client/service-client.ts';
import type { ServiceClock } from '../client/service-clock.ts';
import type { AgentSettings } from '../config.ts';
import type { Report } from '../run/contracts.ts';
import { type ArtifactEnd, ArtifactUploader } from './artifacts/artifact-uploader.ts';
import { attemptKey, runFolder } from './artifacts/run-folder.ts';
import type { ReportTiming, WaitingReport } from './outbox.ts';
import { Reporter } from './reporter.ts';
import type { SpoolKind } from './spool/segment.ts';
import { Spool } from './spool/spool.ts';
import { spoolTag } from './spool/spool-folder.ts';
import type { Settlement } from './upload.ts';

/** Limit for reports kept in memory while the disk is unavailable, in characters of JSON. */
const maxMemorySize = 64 * 1024 * 1024;

/**
 * Delivers results from the run to the service: spool, reporter, artifacts, and the lease meanwhile.
 *
 * HELD: the report is sent and at the same time written to disk; its lease is renewed, so that no other agent repeats
 * the run. → SETTLED when the service has sent its receipt: the lease is dropped and the artifacts are uploaded, or
 * discarded if the result does not count. → Removed from disk when none of its artifacts is left. If an agent finds it
 * on disk before that, it sends it again, which the service recognizes by its id, and then its artifacts.
 */
export class Delivery {
  readonly spool: Spool;
  readonly reporter: Reporter;
  readonly uploader: ArtifactUploader;
  readonly #leaseKeeper: LeaseKeeper;
  readonly #isSpoolRequired: boolean;
  readonly #onSettled: (settlement: Settlement) => void;
  /** Results that the service has stored, but not all of their artifacts. */
  readonly #awaitingArtifacts = new Map<string, WaitingReport>();

  constructor(options: DeliveryOptions) {
    const { settings, client, clock, log, serviceClock, leaseKeeper } = options;
    this.#leaseKeeper = leaseKeeper;
    this.#isSpoolRequired = settings.isSpoolRequired;
    this.#onSettled = options.onSettled;
    this.spool = new Spool({
      directory: settings.spoolDir,
      tag: spoolTag(settings.serviceUrl, settings.apiKey),
      maxBytes: settings.spoolMaxBytes,
      maxMemorySize,
      clock,
      log,
      serviceClock,
      notBeforeMs: () =>
        Number.isFinite(serviceClock.errorMs) ? serviceClock.nowMs() - settings.spoolMaxAgeMs : 0,
      onDurable: ({ report }) => {
        leaseKeeper.stopRenewingSoon(report);
        this.uploader.makeRoom();
      },
      onDropped: ({ report }) => {
        leaseKeeper.drop(report);
        this.uploader.discard(report);
      },
      onBacklog: () => this.reporter.backlogChanged(),
    });
    this.reporter = new Reporter({
      client,
      clock,
      log,
      spool: this.spool,
      onSettled: (waiting, settlement) => this.#settled(waiting, settlement),
      onTaken: ({ report }) => this.uploader.hold(report, report.artifacts),
      beforeSending: () => leaseKeeper.verify(),
    });
    this.uploader = new ArtifactUploader({
      client,
      clock,
      log,
      maxWaitingBytes: () => settings.spoolMaxBytes - this.spool.sizeBytes,
      onEnd: options.onArtifactEnd,
      onGone: (lease) => this.#artifactsGone(lease),
    });
  }

  /** Opens the spool. @throws AppError CONFIG_INVALID if it must be on disk and cannot be. */
  async open(): Promise<void> {
    await this.spool.open();
    const { problem } = this.spool.state;
    if (problem === undefined || !this.#isSpoolRequired) return;
    throw new AppError('CONFIG_INVALID', `SPOOL_DIR cannot be used (${problem}), and SPOOL_REQUIRED is set`);
  }

  /** Takes over a result whose lease is held. */
  deliver(report: Report, kind: SpoolKind, options: ReportTiming): void {
    this.uploader.hold(report, report.artifacts);
    this.reporter.add(report, kind, options);
  }

  /** Removes the files of a run whose result is not sent. */
  discardFiles(lease: LeaseRef): void {
    const folder = this.spool.artifactFolder;
    if (folder !== undefined) this.uploader.removeFolder(runFolder(folder, lease));
  }

  #settled(waiting: WaitingReport, settlement: Settlement): void {
    const { report } = waiting;
    this.#leaseKeeper.drop(report);
    this.#onSettled(settlement);
    if (this.uploader.has(report)) this.#awaitingArtifacts.set(attemptKey(report), waiting);
    else this.spool.settle(waiting);
    if (settlement === 'accepted' || settlement === 'duplicate') this.uploader.release(report);
    else this.uploader.discard(report);
  }

  #artifactsGone(lease: LeaseRef): void {
    const waiting = this.#awaitingArtifacts.get(attemptKey(lease));
    if (!waiting) return;
    this.#awaitingArtifacts.delete(attemptKey(lease));
    this.spool.settle(waiting);
  }
}

export interface DeliveryOptions {
  readonly settings: AgentSettings;
  readonly client: ServiceClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly serviceClock: ServiceClock;
  readonly leaseKeeper: LeaseKeeper;
  /** Called for every result that the service took or refused. */
  readonly onSettled: (settlement: Settlement) => void;
  /** Called for every artifact. */
  readonly onArtifactEnd: (end: ArtifactEnd) => void;
}
