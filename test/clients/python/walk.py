"""What an application does with the published Python client. Arguments: server address, password, phase.

The phase "write" signs in, makes a stream, a topic and a group, sends and polls; "again" runs against the same server
after it was killed and started again, and finds everything as it was. Any difference ends the process with an error.
"""

import asyncio
import os
import sys
import uuid

from apache_iggy import Consumer, IggyClient, PollingStrategy, SendMessage

PARTITIONS = 3
MESSAGES = 1000


def same(what, got, want):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


async def signed_in(address, password):
    client = IggyClient(address)
    await client.connect()
    await client.login_user("iggy", password)
    await client.ping()
    return client


async def poll(client, consumer, strategy, count=MESSAGES, commit=False, partition=0):
    got = await client.poll_messages(
        "orders", "placed", consumer=consumer, polling_strategy=strategy, count=count, auto_commit=commit,
        partition_id=partition,
    )
    return [(m.offset(), m.payload()) for m in got]


def numbered(first, end):
    return [(n, f"order {n}".encode()) for n in range(first, end)]


async def read_everything(client):
    me = Consumer.Single(7)
    same("from the first", await poll(client, me, PollingStrategy.First()), numbered(0, MESSAGES))
    same("from an offset", await poll(client, me, PollingStrategy.Offset(990), 5), numbered(990, 995))
    same("the last ones", await poll(client, me, PollingStrategy.Last(), 3), numbered(997, 1000))
    same("beyond the end", await poll(client, me, PollingStrategy.Offset(MESSAGES + 5)), [])
    same("an empty partition", await poll(client, me, PollingStrategy.First(), partition=1), [])
    topic = await client.get_topic("orders", "placed")
    same("partitions", topic.partitions_count, PARTITIONS)
    same("messages", topic.messages_count, MESSAGES)


async def write(address, password):
    client = await signed_in(address, password)
    await client.create_stream("orders")
    await client.create_topic("orders", "placed", PARTITIONS)
    await client.create_consumer_group("orders", "placed", "billing")
    for first in range(0, MESSAGES, 100):
        batch = [SendMessage(f"order {n}") for n in range(first, first + 100)]
        await client.send_messages("orders", "placed", 0, batch)
    await read_everything(client)

    me = Consumer.Single(8)
    for first in range(0, 300, 100):
        got = await poll(client, me, PollingStrategy.Next(), 100, commit=True)
        same("next", got, numbered(first, first + 100))

    await client.join_consumer_group("orders", "placed", "billing")
    group = await client.get_consumer_group("orders", "placed", "billing")
    same("members", group.members_count, 1)
    got = await poll(client, Consumer.Group("billing"), PollingStrategy.Next(), 10, commit=True, partition=None)
    while not got:  # a member is handed one partition after the other, two of them empty
        got = await poll(client, Consumer.Group("billing"), PollingStrategy.Next(), 10, commit=True, partition=None)
    same("as a member", got, numbered(0, 10))
    await client.leave_consumer_group("orders", "placed", "billing")

    for name, call in {
        "a stream that exists": lambda: client.create_stream("orders"),
        "a topic of no stream": lambda: client.create_topic(str(uuid.uuid4()), "t", 1),
        "a send to no topic": lambda: client.send_messages("orders", "nothing", 0, [SendMessage("x")]),
        "a poll of no partition": lambda: poll(client, me, PollingStrategy.First(), partition=99),
    }.items():
        try:
            await call()
        except Exception as refused:
            print(f"{name}: {refused}")
        else:
            raise AssertionError(f"{name} was accepted")
    await client.logout_user()


async def again(address, password):
    client = await signed_in(address, password)
    await read_everything(client)
    got = await poll(client, Consumer.Single(8), PollingStrategy.Next(), 100)
    same("next after the restart", got, numbered(300, 400))
    groups = await client.get_consumer_groups("orders", "placed")
    same("groups", [g.name for g in groups], ["billing"])
    await client.delete_consumer_group("orders", "placed", "billing")
    same("groups", await client.get_consumer_groups("orders", "placed"), [])


phases = {"write": write, "again": again}
asyncio.run(asyncio.wait_for(phases[sys.argv[3]](sys.argv[1], sys.argv[2]), 60))

sys.stdout.flush()
os._exit(0)  # the client's threads outlive the loop and may abort an interpreter that is torn down under them
