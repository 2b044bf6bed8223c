/** What an isolate says of the limit that an invocation has passed. */
import test from 'ava';
import { cpuOfReason, memoryOfReason } from '../../../../src/host/invocation/failures/invocation-errors.js';

test('cpuOfReason() takes what an isolate says of CPU time, and nothing else', t => {
  t.is(cpuOfReason('EDGE_CPU_LIMIT 51.234'), 51.234);
  for (const reason of ['', 'EDGE_CPU_LIMIT', 'EDGE_CPU_LIMIT -1', 'EDGE_CPU_LIMIT 1e9', 'EDGE_CPU_LIMIT 1\n2', 'x'])
    t.is(cpuOfReason(reason), undefined, reason);
});

test('memoryOfReason() takes what an isolate says of memory, and nothing else', t => {
  t.is(memoryOfReason('EDGE_MEMORY_LIMIT 134217729'), 134_217_729);
  for (const reason of ['', 'EDGE_MEMORY_LIMIT', 'EDGE_MEMORY_LIMIT 1.5', 'EDGE_CPU_LIMIT 1', 'EDGE_MEMORY_LIMIT 1 '])
    t.is(memoryOfReason(reason), undefined, reason);
});
