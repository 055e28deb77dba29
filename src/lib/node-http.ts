/**
 * Node's `http` as an object. Imported as a module it reads every export once, among them the web socket of the undici inside
 * Node, which is loaded for that: 45 ms of CPU and some megabytes in each thread, for something nobody here uses.
 */
export const http = process.getBuiltinModule('node:http');
