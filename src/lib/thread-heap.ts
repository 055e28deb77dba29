/**
 * What threads of an agent get for new objects, of which few outlive a check run: V8 would take up to 48 MB in each thread for a
 * few collections less. For `resourceLimits` of a Worker.
 */
export const threadHeap = { maxYoungGenerationSizeMb: 24 } as const;
