import { Bench } from 'tinybench';
import { headOfRaw, parseResponseHead } from '../../src/host/ingress/http-head.js';
import { InvocationMeter } from '../../src/isolate/metering/meter.js';
import { WatchBlock } from '../../src/isolate/metering/watch-block.js';
import { FrameReader } from '../../src/protocol/frames/frame-reader.js';
import { FrameWriter } from '../../src/protocol/frames/frame-writer.js';
import { HostOpens } from '../../src/protocol/messages.js';
import type { Benchmark, Figure } from '../benchmark.js';
import { median } from '../measuring/statistics.js';

const RAW_HEADERS = [
  ['Host', 'example.com'],
  ['User-Agent', 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'],
  ['Accept', '*/*'],
  ['Accept-Encoding', 'gzip, deflate, br'],
  ['Connection', 'keep-alive'],
].flat();
const RESPONSE_HEAD = 'OK\ncontent-type\ntext/plain;charset=UTF-8\ncache-control\nmax-age=60\netag\n"abc"';

export const micro: Benchmark = {
  name: 'micro',
  measures: 'The parts of the path of a request that are plain code, each alone, in a loop.',
  floor: 'none; for finding out what has become slower.',
  async run(context) {
    const samples = new Map<string, number[]>();
    for (let round = 0; round < context.rounds; round++) {
      const bench = new Bench({ time: (context.seconds * 1000) / 4, warmupTime: 100 });
      addTasks(bench);
      await bench.run();
      for (const task of bench.tasks) {
        const { result } = task;
        if (!('latency' in result)) throw new Error(`The task ${task.name} ended as ${result.state}`);
        const times = samples.get(task.name) ?? [];
        times.push(result.latency.mean * 1000);
        samples.set(task.name, times);
      }
      const shown = [...samples].map(([name, times]) => `${name} ${median(times).toFixed(2)} us`);
      context.progress(`round ${round + 1}/${context.rounds}: ${shown.join(', ')}`);
    }
    return [...samples].map(([name, times]): Figure => ({ name, unit: 'us', samples: times }));
  },
};

function addTasks(bench: Bench): void {
  const writer = new FrameWriter();
  const reader = new FrameReader({
    onOpen() {},
    onReply() {},
    onData() {},
    onEnd() {},
    onCredit() {},
    onReset() {},
    onStopSending() {},
    onSignal() {},
    onPause() {},
    onPaused() {},
    onSplice() {},
  });
  const head = headOfRaw('GET', 'http://example.com/path?query=1', RAW_HEADERS);
  const meter = new InvocationMeter(new WatchBlock(), {
    onTurnEnd() {},
    onCpuExceeded() {},
    onCpuSpent() {},
    onMemoryExceeded() {},
  });
  let id = 2;
  bench.add('a request frame written and read', () => {
    id = (id + 2) & 0xffff_fffe;
    writer.open(id >>> 0, HostOpens.Fetch, head, false, null, true);
    for (const chunk of writer.take()) reader.push(chunk);
  });
  bench.add('a response frame written and read', () => {
    id = (id + 2) & 0xffff_fffe;
    writer.reply(id >>> 0, 200, RESPONSE_HEAD, false, 'Hello from a function', true);
    for (const chunk of writer.take()) reader.push(chunk);
  });
  bench.add('the head of a request', () => {
    headOfRaw('GET', 'http://example.com/path?query=1', RAW_HEADERS);
  });
  bench.add('the head of a response', () => {
    parseResponseHead(RESPONSE_HEAD);
  });
  bench.add('metering an invocation of one turn', () => {
    meter.open(2, HostOpens.Fetch);
    meter.begin(2);
    meter.end(2);
    meter.close(2);
  });
}
