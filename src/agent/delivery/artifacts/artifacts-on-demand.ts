import type { ArtifactFile, ArtifactSink } from '@picket/checks/contract/run-context.ts';
import type { RunArtifacts } from './run-artifacts.ts';

/** Makes the artifacts of a run with its first file: most runs leave none, and need no folder, queue or time limit. */
export class ArtifactsOnDemand implements ArtifactSink {
  readonly #make: () => RunArtifacts;
  #made: RunArtifacts | undefined;
  #isOver = false;

  constructor(make: () => RunArtifacts) {
    this.#make = make;
  }

  async add(file: ArtifactFile): Promise<boolean> {
    if (!this.#made && this.#isOver) return false;
    this.#made ??= this.#make();
    return await this.#made.add(file);
  }

  /** The run is over: refuses a first file from now on. @returns undefined for a run without files. */
  end(): RunArtifacts | undefined {
    this.#isOver = true;
    return this.#made;
  }
}
