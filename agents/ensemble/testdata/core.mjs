// The functions of pi-ensemble's lib/core.mjs, each a call of the program that
// ENSEMBLE_PROGRAM names: with this file in its place, the tests of pi-ensemble
// test that program.
import { spawnSync } from 'node:child_process';

function run(root, ...words) {
  const env = { ...process.env, ENSEMBLE_AS_PROGRAM: '1' };
  const r = spawnSync(process.env.ENSEMBLE_PROGRAM, ['--root', root, ...words], { encoding: 'utf8', env });
  if (r.error) throw r.error;
  if (r.status !== 0) throw new Error(r.stderr.trim() || `exit code ${r.status}`);
  return r.stdout;
}

const json = (root, ...words) => JSON.parse(run(root, ...words, '--json'));

// flags turns {replyTo: 'x', force: true} into ['--reply-to', 'x', '--force'].
const flags = given => Object.entries(given).flatMap(([name, value]) => {
  const flag = '--' + name.replace(/[A-Z]/g, c => '-' + c.toLowerCase());
  if (value === undefined || value === false) return [];
  return value === true ? [flag] : [flag, String(value)];
});

export const init = (root, { agent } = {}) => run(root, 'init', ...flags({ agent }));
export const status = root => JSON.parse(run(root, 'status'));
export const note = (root, { from, body }) => json(root, 'note', body, ...flags({ from }));
export const send = (root, { from, to, type, body, replyTo }) => json(root, 'send', to, body, ...flags({ from, type, replyTo }));
export const ack = (root, { from, messageId, body }) => json(root, 'ack', messageId, ...flags({ from, body }));
export const done = (root, { from, messageId, body }) => json(root, 'done', messageId, ...flags({ from, body }));
export const messages = (root, { limit, open } = {}) => json(root, 'messages', ...flags({ limit, open }));
export const readInbox = (root, { agent, clear = true, sinceLastRead }) =>
  json(root, 'inbox', ...flags({ agent, clear, noClear: !clear, sinceLastRead })).content;
export const readBoard = root => json(root, 'board').content;
export const readAudit = (root, { limit } = {}) => json(root, 'audit', ...flags({ limit }));
export const timeline = (root, { limit } = {}) => json(root, 'timeline', ...flags({ limit }));
export const overview = (root, { limit } = {}) => json(root, 'overview', ...flags({ limit }));
export const doctor = root => json(root, 'doctor');
export const claims = root => json(root, 'claims');
export const claim = (root, { agent, targetPath, force }) => json(root, 'claim', targetPath, ...flags({ agent, force }));
export const release = (root, { agent, targetPath, force }) => json(root, 'release', targetPath, ...flags({ agent, force }));
export const staleAgents = (root, { days } = {}) => json(root, 'stale', ...flags({ days }));
export const retire = (root, { agent, by, reason }) => json(root, 'retire', agent, ...flags({ by, reason }))[0];
