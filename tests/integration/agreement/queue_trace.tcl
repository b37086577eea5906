# One SACK flow over a dumbbell as in benchmarks/agreement/dumbbell.tcl: 10 Mbit/s, 20 ms, 50 packets, an access delay of 1 ms.
#
#   ns queue_trace.tcl TRACE
#
# Writes a line to TRACE for each packet that enters (+) or leaves (-) the bottleneck's queue, over 60 s.

Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 2
Agent/TCP set packetSize_ 960
Agent/TCP set minrto_ 0.2
Agent/TCP set tcpTick_ 0.0001

set ns [new Simulator]
set trace [open [lindex $argv 0] w]
set left [$ns node]
set right [$ns node]
set node [$ns node]
$ns duplex-link $left $right 10Mb 20ms DropTail
$ns queue-limit $left $right 50
$ns queue-limit $right $left 1000000
$ns duplex-link $node $left 100Gb 1ms DropTail
$ns queue-limit $node $left 1000000
$ns trace-queue $left $right $trace

set tcp [new Agent/TCP/Sack1]
set sink [new Agent/TCPSink/Sack1]
$ns attach-agent $node $tcp
$ns attach-agent $right $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0 "$ftp start"
$ns at 60 {close $trace; exit 0}
$ns run
