/** The signal by which other processes of the same user can open the inspector of this one. */
import process from 'node:process';

let isIgnored = false;

/**
 * A function that has escaped into a cell of the same user could open the application's inspector with SIGUSR1 and take it over (rule
 * R27). An application that has a listener of its own keeps it.
 */
export function ignoreInspectorSignal(): void {
  if (isIgnored || process.platform === 'win32') return;
  isIgnored = true;
  if (process.listenerCount('SIGUSR1') === 0) process.on('SIGUSR1', () => {});
}
