# ns-2 side of a dumbbell: N senders, each behind its own access link, one bottleneck, all receivers at its far end.
#
#   ns dumbbell.tcl key value ...
#
# Prints one JSON object. Keys (SI units unless named):
#   agent        ns-2 agent class without "Agent/", e.g. TCP/Sack1
#   sink         ns-2 sink class, e.g. TCPSink/Sack1
#   ca           congestion avoidance module of TCP/Linux, or ""
#   settings     list "variable value ..." set on each sender, e.g. {windowOption_ 8}
#   rate delay   bottleneck: bit/s, one-way s
#   buffer       packets in the system at most, the one being sent included (queue-limit counts so)
#   flows        list of {access_delay start}: one-way s, s
#   payload      packetSize_, bytes: 960 for most agents (the wire adds 40), 950 with timestamps (50), 1000 for Vegas (none)
#   duration warmup sample   s; sample is the interval between looks at cwnd, 0 for none

array set opt {ca "" settings {} payload 960 sample 0.01}
array set opt $argv
set wire_bytes 1000
set packet_size null
set access_rate 100Gb

Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 2
Agent/TCP set packetSize_ $opt(payload)
Agent/TCP set minrto_ 0.2
# ns-2 rounds RTTs to ticks; the default 10 ms would blur every timeout.
Agent/TCP set tcpTick_ 0.0001
Agent/TCP/Linux set tcpTick_ 0.0001

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right $opt(rate) $opt(delay) DropTail
$ns queue-limit $left $right $opt(buffer)
$ns queue-limit $right $left 1000000
set bottleneck [$ns monitor-queue $left $right ""]

set senders {}
foreach flow $opt(flows) {
    lassign $flow access_delay start
    set node [$ns node]
    $ns duplex-link $node $left $access_rate $access_delay DropTail
    $ns queue-limit $node $left 1000000
    $ns queue-limit $left $node 1000000
    set tcp [new Agent/$opt(agent)]
    set sink [new Agent/$opt(sink)]
    foreach {variable value} $opt(settings) { $tcp set $variable $value }
    $ns attach-agent $node $tcp
    $ns attach-agent $right $sink
    $ns connect $tcp $sink
    if {$opt(ca) ne ""} {
        $sink set ts_echo_rfc1323_ true
        $ns at 0 "$tcp select_ca $opt(ca)"
    }
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $start "$ftp start"
    lappend senders $tcp
    set cwnd_sum($tcp) 0.0
}
set samples 0

proc look_at_cwnd {} {
    global ns opt senders cwnd_sum samples
    incr samples
    foreach tcp $senders { set cwnd_sum($tcp) [expr {$cwnd_sum($tcp) + [$tcp set cwnd_]}] }
    $ns at [expr {[$ns now] + $opt(sample)}] look_at_cwnd
}

# Packet counters, not bdepartures_ or bytes_: those overflow at 2^31.
proc counters {} {
    global bottleneck senders
    set all [list [$bottleneck set parrivals_] [$bottleneck set pdepartures_] [$bottleneck set pdrops_]]
    foreach tcp $senders { lappend all [$tcp set ack_] [$tcp set nrexmitpack_] [$tcp set nrexmit_] }
    return $all
}

proc departures {} {
    global bottleneck
    return [list [$bottleneck set pdepartures_] [$bottleneck set bdepartures_]]
}

# What a packet really weighs, over at least 1000 of them, well before the byte counter can overflow.
proc measure_packet_size {since} {
    global ns packet_size
    lassign $since packets bytes
    lassign [departures] packets_now bytes_now
    if {$packets_now - $packets < 1000} { $ns at [expr {[$ns now] + 0.1}] "measure_packet_size {$since}"; return }
    set packet_size [expr {($bytes_now - $bytes) / double($packets_now - $packets)}]
}

proc end_warmup {} {
    global before opt
    set before [counters]
    measure_packet_size [departures]
    if {$opt(sample) > 0} look_at_cwnd
}

proc finish {} {
    global opt before samples senders cwnd_sum wire_bytes packet_size wall_start
    set wall [expr {([clock microseconds] - $wall_start) / 1e6}]
    set counts {}
    foreach a [counters] b $before { lappend counts [expr {$a - $b}] }
    set time [expr {$opt(duration) - $opt(warmup)}]
    lassign $counts arrived departed dropped
    set utilization [expr {$departed * $wire_bytes * 8.0 / ($opt(rate) * $time)}]
    set flows {}
    set data_packets 0
    foreach tcp $senders {acked retransmits timeouts} [lrange $counts 3 end] {
        set cwnd [expr {$samples ? $cwnd_sum($tcp) / $samples : 0}]
        set goodput [expr {$acked * $wire_bytes * 8.0 / $time}]
        incr data_packets [$tcp set ndatapack_]
        lappend flows "{\"mean_cwnd_packets\": $cwnd, \"goodput_bps\": $goodput,\
            \"retransmits\": $retransmits, \"timeouts\": $timeouts}"
    }
    puts "{\"utilization\": $utilization, \"arrived_packets\": $arrived, \"dropped_packets\": $dropped,\
        \"loss_rate\": [expr {$arrived ? double($dropped) / $arrived : 0.0}],\
        \"flows\": \[[join $flows {, }]\], \"packet_size\": $packet_size, \"data_packets\": $data_packets,\
        \"wall_s\": $wall}"
    exit 0
}

$ns at $opt(warmup) end_warmup
$ns at $opt(duration) finish
set wall_start [clock microseconds]
$ns run
