import { secondsOf } from '../go-formats.ts';
import { type Loss, Source } from '../source.ts';

/** One probe configured in Prometheus: a target and its module. */
export interface ProbedTarget {
  readonly module: string;
  readonly target: string;
  readonly intervalSeconds: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Its position in the source. */
  readonly field: string;
}

const defaultIntervalSeconds = 60;

/**
 * Reads the targets of a Prometheus configuration (`scrape_configs` with a `module`), or of a file for its file-based
 * discovery (a list of `targets` with `labels`, where `module` or `__param_module` names the module).
 *
 * @param only the module of targets that name none.
 */
export function readTargets(value: unknown, only: string | undefined, losses: Loss[]): ProbedTarget[] {
  if (Array.isArray(value)) {
    return value.flatMap((group, index) =>
      readGroup(new Source(group, `targets.${index}`, losses), only, defaultIntervalSeconds),
    );
  }
  const root = new Source(value, 'targets', losses);
  const global = root.child('global');
  const interval = secondsOf(global.text('scrape_interval') ?? '') ?? defaultIntervalSeconds;
  const found = root.children('scrape_configs').flatMap((job) => {
    const params = job.child('params');
    const [module = only] = params.list('module').map(String);
    if (module === undefined) {
      job.lose('', 'it has no module: it is not a job of the blackbox exporter');
      job.skip(...job.keys);
      params.skip(...params.keys);
      return [];
    }
    job.skip('metrics_path', 'relabel_configs');
    const every = secondsOf(job.text('scrape_interval') ?? '') ?? interval;
    const name = job.text('job_name');
    return job
      .children('static_configs')
      .flatMap((group) =>
        readGroup(group, module, every, { field: job.path, labels: name === undefined ? {} : { job: name } }),
      );
  });
  root.finish(() => 'it is a setting of Prometheus that checks do not have');
  return found;
}

function readGroup(
  group: Source,
  module: string | undefined,
  intervalSeconds: number,
  { field, labels: more }: Pick<ProbedTarget, 'field' | 'labels'> = { field: group.path, labels: {} },
): ProbedTarget[] {
  const {
    module: named,
    __param_module: param,
    ...labels
  } = (group.take('labels') ?? {}) as Record<string, unknown>;
  const used = named ?? param ?? module;
  const targets = group.list('targets').map(String);
  group.finish();
  if (used === undefined) {
    group.note('labels', 'they name no module, so the type of these checks is unknown');
    return [];
  }
  const written = Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, String(value)]));
  return targets.map((target) => ({
    module: String(used),
    target,
    intervalSeconds,
    labels: { ...more, ...written },
    field,
  }));
}
