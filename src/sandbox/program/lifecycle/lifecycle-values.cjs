'use strict';
/** Reads the results of a setup or teardown script from objects that it could manipulate, and bounds them. */

/** Limit for a request, a body, or the variables that a script may pass on, in bytes (check model 5.4). */
const maxValueBytes = 256 * 1024;
const maxVariables = 1000;

/** @throws TypeError for an unusable request, RangeError for one that is too large. */
function readRequest(request) {
  if (typeof request !== 'object' || request === null) throw new TypeError('request is no longer an object');
  const read = {
    method: String(request.method ?? '').toUpperCase(),
    url: String(request.url ?? ''),
    body: bodyText(request.body, 'request.body'),
    headers: readMap(request.headers, 'request.headers'),
    queryParameters: readMap(request.queryParameters, 'request.queryParameters'),
  };
  requireBounded(sizeOf(Object.values(read)), 'The request');
  return read;
}

/** The body of a response, if the script changed it. */
function readBody(response, before) {
  const body = bodyText(response?.body, 'response.body');
  if (body === before) return {};
  requireBounded(Buffer.byteLength(body), 'response.body');
  return { body };
}

/** Variables whose values changed; null for deleted ones. */
function changedVariables(before, now) {
  const changed = {};
  for (const [name, value] of Object.entries(now)) if (before[name] !== value) changed[name] = value;
  for (const name of Object.keys(before)) if (now[name] === undefined) changed[name] = null;
  if (Object.keys(changed).length > maxVariables) {
    throw new RangeError(`The script changed more than ${maxVariables} variables`);
  }
  requireBounded(sizeOf(Object.entries(changed)), 'The changes of the script in process.env');
  return changed;
}

/** Objects are serialised as JSON. */
function bodyText(body, name) {
  if (body === undefined || body === null) return '';
  if (typeof body === 'string') return body;
  if (typeof body === 'object' && !ArrayBuffer.isView(body)) return JSON.stringify(body);
  if (typeof body === 'function' || ArrayBuffer.isView(body)) throw new TypeError(`${name} is no text`);
  return String(body);
}

/** Texts by name; a name with several texts has a list. undefined and null are omitted. */
function readMap(map, name) {
  if (map === undefined || map === null) return {};
  if (typeof map !== 'object') throw new TypeError(`${name} is no object`);
  const read = Object.create(null);
  for (const [key, value] of Object.entries(map)) {
    if (value === undefined || value === null) continue;
    read[key] = Array.isArray(value)
      ? value.map((one) => textOf(one, `${name}[${JSON.stringify(key)}]`))
      : textOf(value, `${name}[${JSON.stringify(key)}]`);
  }
  return read;
}

function textOf(value, name) {
  if (typeof value === 'object' || typeof value === 'function' || typeof value === 'symbol') {
    throw new TypeError(`${name} is no text`);
  }
  return String(value);
}

function sizeOf(value) {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce(
    (sum, [key, item]) => sum + (Array.isArray(value) ? 0 : Buffer.byteLength(key)) + sizeOf(item),
    0,
  );
}

function requireBounded(sizeBytes, name) {
  if (sizeBytes <= maxValueBytes) return;
  const sizeKb = Math.ceil(sizeBytes / 1024);
  throw new RangeError(`${name} has ${sizeKb} KB; scripts can pass on ${maxValueBytes / 1024} KB`);
}

module.exports = { changedVariables, readBody, readRequest };
