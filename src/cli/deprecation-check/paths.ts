/** Finds the calls in files and directories of every kind. */
import { stat } from 'node:fs/promises';
import { readRecording } from './recordings.js';
import type { AuditReport, CountedFinding } from './report.js';
import { type AuditFinding, type AuditOptions, Auditor } from './requests.js';
import { isSourceFile, SourceScanner } from './source-code.js';

/** More of one run are counted, not kept. */
const MAX_FINDINGS = 10_000;

/** Audits files and directories. @throws Error a path that cannot be read, a recording without requests */
export async function auditPaths(
  paths: readonly string[],
  options: AuditOptions & { readonly asOf: Date },
): Promise<AuditReport> {
  const auditor = new Auditor(options);
  const found = new Findings();
  let files = 0;
  let requests = 0;
  for (const path of paths) {
    const isDirectory = (await stat(path)).isDirectory();
    if (isDirectory || isSourceFile(path)) {
      const scanner = new SourceScanner(auditor);
      for await (const file of isDirectory ? scanner.files(path) : [path]) {
        files += 1;
        for (const finding of await scanner.scanFile(file)) {
          found.add(finding, `${finding.file}:${finding.line}:${finding.route}`);
        }
      }
      continue;
    }
    files += 1;
    const before = requests;
    for await (const request of readRecording(path)) {
      requests += 1;
      for (const finding of auditor.audit(request))
        found.add(finding, `${path}:${finding.method}:${finding.route}:${finding.id}`);
    }
    if (requests === before) throw new Error(`${path}: no request was recognized; is it a HAR file or an access log?`);
  }
  return { asOf: options.asOf.toISOString().slice(0, 10), ...found.result(), files, requests };
}

/** Counts calls of a kind, and keeps the first of each. */
class Findings {
  readonly #kept = new Map<string, { finding: AuditFinding; count: number }>();
  readonly #counts = { gone: 0, ending: 0 };

  add(finding: AuditFinding, key: string): void {
    this.#counts[finding.state] += 1;
    const before = this.#kept.get(key);
    if (before !== undefined) before.count += 1;
    else if (this.#kept.size < MAX_FINDINGS) this.#kept.set(key, { finding, count: 1 });
  }

  result(): { readonly findings: CountedFinding[]; readonly gone: number; readonly ending: number } {
    const findings = [...this.#kept.values()].map(({ finding, count }) => ({ ...finding, count }));
    // Removed routes come first; the others are in the order of their paths.
    findings.sort((a, b) => Number(b.state === 'gone') - Number(a.state === 'gone'));
    return { findings, ...this.#counts };
  }
}
