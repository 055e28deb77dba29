import module from 'node:module';

/**
 * Preloaded into the processes of tests. In them, vitest reports each import of each module to its main process, for the sake of
 * its watch mode: thousands of messages per process, a fifth of the time that loading the service takes. The hook that does so is
 * called for test files only, which it gives a new address for each run.
 */
const { registerHooks } = module;
module.registerHooks = ({ resolve, ...others }) =>
  registerHooks({
    ...others,
    resolve: (specifier, context, next) =>
      resolve && specifier.includes('vitest=') ? resolve(specifier, context, next) : next(specifier, context),
  });
