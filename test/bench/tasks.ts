import type { Figures } from './suite.ts'

/** What a process that does tasks says. */
export type Answer = { figures: Figures } | { error: string }

/** Makes this process one that does tasks, one at a time, for the process that started it. */
export function serveTasks<Task>(work: (task: Task) => Promise<Figures>): void {
  process.on('message', (task) => {
    work(task as Task).then(
      (figures) => process.send!({ figures } satisfies Answer),
      (error: Error) => process.send!({ error: error.stack! } satisfies Answer)
    )
  })
  process.send!({ url: '' })
}
