import { runtimes } from '../../checks/tables/runtimes.ts';
import { AppError } from '../../lib/errors.ts';
import { runtimeRoutes } from '../../protocol/checks/runtime.ts';
import { type AnyHandler, handlersById } from '../http/handler.ts';

/** The routes of the runtimes that checks can name. */
export function runtimeHandlers(): [string, AnyHandler][] {
  const views = runtimes.map((runtime) => ({
    ...runtime,
    dependencies: { ...runtime.dependencies },
    // No end of life is set for any of them.
    runtimeEndOfLife: null,
  }));
  return handlersById(runtimeRoutes, {
    async listRuntimes() {
      return views;
    },
    async getRuntime({ params }) {
      const runtime = views.find(({ name }) => name === params.id);
      if (!runtime) throw new AppError('NOT_FOUND', `There is no runtime "${params.id}".`);
      return runtime;
    },
  });
}
