package My::Suite::Cairn;

# The suite of the storage engine Cairn; runs when its plugin is beside the server's.

@ISA = qw(My::Suite);

return "Need ha_cairn.so" unless $ENV{HA_CAIRN_SO};

sub is_default { 0 }

bless { };
