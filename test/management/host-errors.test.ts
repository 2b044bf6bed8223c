import test from 'ava';
import { EDGE_ERRORS, EdgeError, type EdgeErrorCode, isEdgeErrorCode } from '../../src/quotas/errors.js';
import { thrownOutside } from '../outside.js';
import { makeApi, upload } from './support/api.js';

/** Status and code of the answer to an upload when the host refuses it with the code. */
const ANSWERS: Readonly<Partial<Record<EdgeErrorCode, readonly [number, number]>>> = {
  EDGE_SCRIPT_SYNTAX: [400, 5001],
  EDGE_SCRIPT_THREW: [400, 5001],
  EDGE_SCRIPT_IMPORT: [400, 5001],
  EDGE_SCRIPT_NO_HANDLER: [400, 5001],
  EDGE_SCRIPT_TOO_LARGE: [413, 5002],
  EDGE_STARTUP_LIMIT: [400, 5003],
  EDGE_CPU_LIMIT: [400, 5003],
  EDGE_MEMORY_LIMIT: [400, 5001],
  EDGE_CONFIG_INVALID: [400, 5004],
  EDGE_LIMIT_EXCEEDED: [403, 4005],
  EDGE_NAME_DENIED: [403, 4006],
  EDGE_NAME_TAKEN: [409, 4007],
  EDGE_ROUTE_TAKEN: [409, 4002],
  EDGE_NOT_SUPPORTED: [501, 5005],
  EDGE_CELL_LOST: [503, 8001],
  EDGE_CELL_START: [503, 8001],
  EDGE_ISOLATE_LOST: [503, 8001],
  EDGE_OVERLOADED: [503, 8001],
  EDGE_DESCRIPTOR_LIMIT: [503, 8001],
  EDGE_TASK_LIMIT: [503, 8001],
  EDGE_CLOSED: [503, 8001],
  EDGE_SERVICES_LOST: [503, 8001],
  EDGE_STORAGE_FULL: [507, 8002],
  EDGE_STORAGE_QUOTA: [403, 4005],
  EDGE_ACCOUNT_REMOVED: [404, 4001],
};

for (const code of Object.keys(EDGE_ERRORS).filter(isEdgeErrorCode)) {
  const [status, apiCode] = ANSWERS[code] ?? [500, 8000];
  test(`PUT functions answers ${status} with ${apiCode} when the host refuses with ${code}`, async t => {
    const api = makeApi();
    api.functions.failNext = new EdgeError(code, 'the reason');
    const { status: answered, body } = await api.call(
      'PUT',
      '/accounts/acme/functions/hello',
      upload('export default {}'),
    );
    t.is(answered, status);
    t.is(body.errors[0]?.code, apiCode);
    // The owner of a function learns of errors that it can correct, but not of other ones, nor of the account that has a name.
    t.is(body.errors[0]?.message.includes('the reason'), apiCode !== 8000 && code !== 'EDGE_NAME_TAKEN');
  });
}

test('fetch() answers 503 once the storage is closed', async t => {
  const api = makeApi();
  await api.storage.close();
  const { status, body } = await api.call('GET', '/zones');
  t.is(status, 503);
  t.is(body.errors[0]?.code, 8001);
});

test.serial('fetch() answers in the envelope when the owner’s onError throws, which is thrown outside', async t => {
  const thrown = thrownOutside(t);
  const onError = () => {
    throw new Error('broken too');
  };
  const api = makeApi({ onError });
  api.functions.failNext = new Error('broken');
  t.is((await api.call('PUT', '/accounts/acme/functions/hello', upload('export default {}'))).status, 500);
  await new Promise(resolve => setImmediate(resolve));
  t.like(thrown, [{ message: 'broken too' }]);
});
