import type { FastifyInstance } from 'fastify'
import type { FailureCode } from '../../../lib/errors.ts'

/** Counts a call of a tool by what became of it. */
export type CountCall = (tool: string, outcome: 'ok' | FailureCode) => void

/** Counts the calls of tools, and shows the counts as a metric. */
export function openCallCounts(fastify: FastifyInstance): CountCall {
  const counts = new Map<string, { labels: { tool: string; outcome: string }; value: number }>()
  fastify.readings.set('quoin_mcp_calls_total', {
    type: 'counter',
    help: 'Calls of tools by agents, by what became of them',
    label: ['tool', 'outcome'],
    read: () => [...counts.values()]
  })
  return (tool, outcome) => {
    const name = `${tool} ${outcome}`
    const count = counts.get(name) ?? { labels: { tool, outcome }, value: 0 }
    count.value++
    counts.set(name, count)
  }
}
