import t from 'tap'
import { streamOwner } from '#lib/auth/address.ts'

t.test('event streams count for the user, or else for the address', async (t) => {
  for (const [ip, owner] of [
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:4711', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:0:7::1', '2001:db8:0:7'],
    ['2001:DB8::7:0:0:0:2', '2001:db8:0:7'],
    ['[2001:db8:0:7:8:9:a:b]:4711', '2001:db8:0:7'],
    ['::1', '0:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0'],
    ['unknown', 'unknown'],
    [undefined, 'undefined']
  ] as const) {
    t.equal(streamOwner({ ip }), `address ${owner}`)
  }
  t.equal(streamOwner({ identity: { uid: '7' }, ip: '192.0.2.7' }), 'user 7')
})
