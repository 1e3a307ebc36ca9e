/**
 * Share partitions as Kafka's range does, for an application that brings this assignor to a client without it. `wishes` are [{memberId, topics}],
 * `partitionsOf(topic)` returns numbers of partitions; the result is [{memberId, assignment: {topic: numbers}}].
 */
export function rangeShares(wishes, partitionsOf) {
  const shares = new Map(wishes.map(({ memberId }) => [memberId, {}]))
  for (const topic of new Set(wishes.flatMap(({ topics }) => topics))) {
    const partitions = [...partitionsOf(topic)].sort((a, b) => a - b)
    const takers = wishes.filter(({ topics }) => topics.includes(topic)).map(({ memberId }) => memberId).sort()
    const [share, over] = [Math.floor(partitions.length / takers.length), partitions.length % takers.length]
    takers.forEach((memberId, place) => {
      const start = share * place + Math.min(place, over)
      shares.get(memberId)[topic] = partitions.slice(start, start + share + (place < over ? 1 : 0))
    })
  }
  return [...shares].map(([memberId, assignment]) => ({ memberId, assignment }))
}
